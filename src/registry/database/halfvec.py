"""Converts vectors to and from pgvector's `halfvec`, with 16 bits for each component."""

from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo


def halfvec_type(connection: psycopg.Connection[Any]) -> TypeInfo:
    """Return the type's information in a database. Raises psycopg.Error if the type does not exist."""
    info = TypeInfo.fetch(connection, "halfvec")
    if info is None:
        raise psycopg.errors.UndefinedObject("pgvector's types are not in the search path")
    return info


def register(connection: psycopg.Connection[Any], info: TypeInfo) -> None:
    """Write float32 arrays, shape (dim,), as `halfvec`, and read `halfvec` as the bytes of float32 arrays."""
    connection.adapters.types.add(info)
    connection.adapters.register_dumper(np.ndarray, type("", (_ArrayDumper,), {"oid": info.oid}))
    connection.adapters.register_loader(info.oid, _BytesLoader)


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: NDArray[np.float32]) -> Buffer:
        return HalfVector(obj).to_binary()


class _BytesLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return HalfVector.from_binary(bytes(data)).to_numpy().astype(np.float32).tobytes()
