"""Readers of what others write: whatever the bytes are, a reader takes them or refuses them in its own words, soon.

`corpus/` has documents of each kind. Examples are put together from their pieces, so that most get past the first
check. An example that has failed once is kept there too.
"""

import io
import re
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.domain.addresses import OutboundError
from registry.domain.repository_addresses import parse_address
from registry.errors import RegistryError
from registry.http.cursors import position_at
from registry.http.query_params import Page
from registry.outbound.client import Validators
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.metadata import examine
from registry.packages.package import unpack
from registry.packages.refusal import PackageRefused
from registry.project.lock_file import LockFileError, read_lock
from registry.project.manifest import parse_manifest
from registry.publish.index_lines import merged
from registry.services.search_id import SearchIds
from registry.skill_folder.reading import read_skill_text
from registry.sources import registry_documents
from registry.sources.marketplace import UnreadableDocument, parse_document
from registry.transparency.bundles import BundleInvalid, read_bundle
from registry.transparency.checkpoint import CheckpointInvalid, Verifier
from support.endurance import times

BASE = "https://registry.example.org"
KEY = "log.example.org+1f3b0c5d+AaH4vuPhPzUsW7qSjtHt6dK3lCmNwAv0y2dWj1sYp0lQ"
CORPUS = Path(__file__).parent / "corpus"
SECONDS = 5.0
"""How long a reader may take for 200 kB, on a busy machine."""


def lock(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "skills.lock")
        path.write_bytes(data)
        read_lock(path)


def archive(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        unpack(io.BytesIO(data), Path(folder, "unpacked"), DEFAULT_LIMITS)


def answer(data: bytes) -> None:
    """Read an answer of a registry as each kind of document. Each refusal is the reader's own."""
    for read in (
        lambda: registry_documents.read_description(BASE, data),
        lambda: registry_documents.read_page(BASE, data, 0, Validators()),
        lambda: registry_documents.read_releases(BASE, "acme/pdf", data, lambda _: None),
        lambda: registry_documents.read_log_proof(BASE, data),
        lambda: registry_documents.read_log_entries(BASE, data),
        lambda: registry_documents.read_consistency(BASE, data),
        lambda: registry_documents.read_reason(data),
    ):
        try:
            read()
        except OutboundError:
            continue


def text(data: bytes) -> str:
    return data.decode(errors="replace")


READERS: Mapping[str, tuple[Callable[[bytes], object], tuple[type[Exception], ...]]] = {
    "address": (lambda data: parse_address(text(data)), (ValueError,)),
    "answer": (answer, ()),
    "bundle": (lambda data: read_bundle(data, 2), (BundleInvalid,)),
    "checkpoint": (lambda data: Verifier(KEY).read(text(data)), (CheckpointInvalid,)),
    "cursor": (lambda data: position_at(text(data), Page(10, 0)), (RegistryError,)),
    "index": (lambda data: merged("acme/pdf", b"", data), ()),
    "lock": (lock, (LockFileError,)),
    "manifest": (lambda data: parse_manifest(data, "skill-project.toml"), (RegistryError,)),
    "marketplace": (parse_document, (UnreadableDocument,)),
    "package": (archive, (PackageRefused,)),
    "search_id": (lambda data: SearchIds("secret").read(text(data)), (RegistryError,)),
    "skill": (lambda data: read_skill_text("SKILL.md", data), (ValueError,)),
    "skill_to_publish": (lambda data: examine(data, None), (PackageRefused, ValueError)),
}


def documents(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(CORPUS.glob(f"{name}*"))]


def drawn(name: str) -> st.SearchStrategy[bytes]:
    """Return documents of a kind with pieces that are left out, repeated, exchanged, and with bytes between them."""
    whole = documents(name)
    pieces = sorted({piece for each in whole for piece in re.findall(rb"\w+|\s+|[^\w\s]", each)})
    piece = st.sampled_from(pieces) | st.binary(max_size=8)
    repeated = st.tuples(piece, st.integers(1, 20_000)).map(lambda pair: pair[0] * pair[1])
    edit = st.tuples(st.integers(0, 1_000_000), st.integers(0, 40), piece | repeated)

    def edited(pair: tuple[bytes, list[tuple[int, int, bytes]]]) -> bytes:
        data, edits = pair
        for at, left_out, added in edits:
            start = at % (len(data) + 1)
            data = data[:start] + added + data[start + left_out :]
        return data[:200_000]

    return st.tuples(st.sampled_from(whole), st.lists(edit, max_size=6)).map(edited)


@pytest.mark.parametrize("name", READERS)
def test_every_document_of_the_corpus_is_read_or_refused(name: str) -> None:
    read, refusals = READERS[name]
    for data in documents(name):
        try:
            read(data)
        except refusals:
            continue


@pytest.mark.endurance
@pytest.mark.parametrize("name", READERS)
def test_whatever_others_write_is_read_or_refused_soon(name: str) -> None:
    read, refusals = READERS[name]

    @settings(max_examples=times(400), deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(drawn(name))
    def check(data: bytes) -> None:
        started, refusal = time.process_time(), None
        try:
            read(data)
        except refusals as error:
            refusal = traceback.extract_tb(error.__traceback__)[-1].line
        assert not refusal or refusal.startswith("raise "), "the reader has not refused, but stumbled"
        assert time.process_time() - started < SECONDS

    check()
