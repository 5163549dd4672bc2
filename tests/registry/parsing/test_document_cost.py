"""No document makes a parser slow: the dearest known ones cost a bounded number of plain passes over the text.

A plain pass takes about 0.01 ms/kB where the limits were measured: 100 of them are 1 ms/kB. Before these limits
the dearest texts cost 300 to 8,000 passes, and more the longer they were.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress

import pytest

from registry.domain.models import NewSkill
from registry.errors import RegistryError
from registry.http.uploads import take_file
from registry.outbound import OutboundError, Validators
from registry.parsing.frontmatter import FrontMatterError, read
from registry.parsing.markdown import MAX_RENDERED, render_markdown
from registry.parsing.strict_json import decode
from registry.parsing.toml_text import load_toml
from registry.publish.index_lines import merged
from registry.sources.marketplace import UnreadableDocument, parse_document, remote_listing
from registry.sources.registry_documents import read_page, read_releases
from support import hostile_documents
from support.cost import dearest


def read_strictly(text: str) -> None:
    with suppress(FrontMatterError):
        read(f"{text}\n---\n", strict=True)


def read_toml(text: str) -> None:
    with suppress(ValueError):
        load_toml(text.encode())


def read_json(text: str) -> None:
    with suppress(RegistryError):
        decode(text.encode(), NewSkill)


def read_marketplace(text: str) -> None:
    with suppress(UnreadableDocument):
        remote_listing(parse_document(text.encode()), str)


class Nothing:
    size = 0

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)


def read_upload(text: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(text), 1 << 16):
            yield text[start : start + (1 << 16)].encode()

    with suppress(RegistryError):
        asyncio.run(take_file(("multipart/form-data", {"boundary": "XyZ"}), body(), {"package"}, Nothing(), 1 << 30))


def read_index(text: str) -> None:
    merged("a/b", b"", text.encode())


def read_changes(text: str) -> None:
    with suppress(OutboundError):
        read_page("https://a.example", text.encode(), 0, Validators())


def read_versions(text: str) -> None:
    read_releases("https://a.example", "a/b", text.encode(), lambda warning: None)


Case = tuple[Callable[[str], object], int, Callable[[int], Iterable[tuple[str, str]]], int]

CASES: dict[str, Case] = {
    "Markdown": (
        render_markdown,
        250,
        lambda size: itertools.chain(
            hostile_documents.combined(hostile_documents.MARKDOWN, size), hostile_documents.markdown(size)
        ),
        MAX_RENDERED - 1_000,
    ),
    "front matter": (
        read,
        150,
        lambda size: itertools.chain(
            hostile_documents.combined(hostile_documents.YAML, size, "---\n"), hostile_documents.front_matter(size)
        ),
        16_000,
    ),
    "front matter, strictly": (
        read_strictly,
        300,
        lambda size: hostile_documents.combined(hostile_documents.YAML, size, "---\nname: a\n"),
        16_000,
    ),
    "TOML": (
        read_toml,
        200,
        lambda size: itertools.chain(
            hostile_documents.combined(hostile_documents.TOML, size), hostile_documents.toml(size)
        ),
        60_000,
    ),
    "JSON": (read_json, 150, hostile_documents.json_bodies, 300_000),
    "marketplace": (read_marketplace, 300, hostile_documents.marketplaces, 100_000),
    "multipart": (read_upload, 50, hostile_documents.multipart_bodies, 1_000_000),
    "index lines": (read_index, 150, hostile_documents.index_files, 200_000),
    "change feed": (read_changes, 150, hostile_documents.change_pages, 200_000),
    "releases": (read_versions, 150, hostile_documents.index_files, 200_000),
}


@pytest.mark.parametrize("name", CASES)
def test_the_dearest_text_costs_a_bounded_number_of_passes(name: str) -> None:
    parser, limit, texts, size = CASES[name]
    cost, which = dearest(parser, texts(size))
    assert cost < limit, which
