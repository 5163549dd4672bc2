"""Writes ONNX models without the onnx package, which is larger than a model.

A model is a message of protocol buffers (https://protobuf.dev/programming-guides/encoding): fields, each a number, a
kind and a value. The numbers are those of onnx.proto3 (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3).
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT = 1
INT64 = 7
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.uint8): 2, np.dtype(np.int8): 3, np.dtype(np.int64): INT64}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7

Value = int | float | str | bytes
Attribute = int | float | Sequence[int]


def message(*fields: tuple[int, Value]) -> bytes:
    """Return a message with these (number, value) fields. Integers have 64 bits, and may be negative."""
    return b"".join(part for number, value in fields for part in _field(number, value))


def tensor(name: str, values: NDArray[Any]) -> bytes:
    """Return a TensorProto of any shape. The numbers are float32, int64, int8 or uint8; others raise KeyError."""
    data = np.array(values, order="C")
    dimensions = [(1, size) for size in data.shape]
    little_endian = data.astype(data.dtype.newbyteorder("<"), copy=False)
    return message(*dimensions, (2, _TYPES[data.dtype]), (8, name), (9, little_endian.tobytes()))


def node(
    kind: str, inputs: Iterable[str], outputs: Iterable[str], domain: str, attributes: Mapping[str, Attribute]
) -> bytes:
    """Return a NodeProto: an operator of a domain, its inputs and outputs by name, and its attributes."""
    return message(
        *((1, name) for name in inputs),
        *((2, name) for name in outputs),
        (4, kind),
        *((5, _attribute(name, value)) for name, value in sorted(attributes.items())),
        (7, domain),
    )


def value(name: str, kind: int, shape: Iterable[int | str]) -> bytes:
    """Return a ValueInfoProto: an input or output with its type and shape. A string names a size that varies."""
    sizes = [(1, message((2, size) if isinstance(size, str) else (1, size))) for size in shape]
    return message((1, name), (2, message((1, message((1, kind), (2, message(*sizes)))))))


def model(graph: bytes, opsets: Mapping[str, int], ir_version: int, metadata: Mapping[str, str]) -> bytes:
    """Return a ModelProto: a GraphProto, the versions of its operators by domain, and metadata properties."""
    return message(
        (1, ir_version),
        (7, graph),
        *((8, message((1, domain), (2, version))) for domain, version in opsets.items()),
        *((14, message((1, key), (2, text))) for key, text in metadata.items()),
    )


def graph(
    name: str, nodes: Iterable[bytes], constants: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """Return a GraphProto of NodeProtos in the order of evaluation, TensorProtos and ValueInfoProtos."""
    return message(
        *((1, proto) for proto in nodes),
        (2, name),
        *((5, constant) for constant in constants),
        *((11, proto) for proto in inputs),
        *((12, proto) for proto in outputs),
    )


def _attribute(name: str, content: Attribute) -> bytes:
    if isinstance(content, float):
        return message((1, name), (2, content), (20, _ATTRIBUTE_FLOAT))
    if isinstance(content, int):
        return message((1, name), (3, content), (20, _ATTRIBUTE_INT))
    return message((1, name), *((8, number) for number in content), (20, _ATTRIBUTE_INTS))


def _field(number: int, content: Value) -> tuple[bytes, ...]:
    if isinstance(content, int):
        return _varint(number << 3 | _VARINT), _varint(content)
    if isinstance(content, float):
        return _varint(number << 3 | _FIXED32), struct.pack("<f", content)
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | _BYTES), _varint(len(data)), data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    number &= 0xFFFFFFFFFFFFFFFF
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
