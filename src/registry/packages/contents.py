"""Rules for the contents of a package: forbidden contents, and warnings about the layout."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath

from registry.domain.findings import Finding
from registry.domain.lfs_pointers import is_lfs_pointer
from registry.domain.skill_file import placeholder_in
from registry.packages.file_patterns import is_secret
from registry.packages.refusal import quality_warning, security_issue
from registry.parsing.private_keys import holds_private_key
from registry.skill_folder.tree import SKILL_FILE, FileEntry

_HEAD = 4096
_MAX_PER_RULE = 20
_LONG_SKILL_FILE = 50_000
_MACH_O = frozenset({b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"})
_FAT_MACH_O = frozenset({b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"\xbe\xba\xfe\xca", b"\xbf\xba\xfe\xca"})
_EXPECTED = re.compile(
    r"SKILL\.md|skill-project\.toml|scripts/|references?/|assets/|templates?/|examples?/|resources/|"
    r"evals/|agents/|"  # the tasks of its author, and what single agents show of it, such as agents/openai.yaml
    r"(?:LICEN[CS]E|NOTICE|COPYING|README|CHANGELOG|AUTHORS)(?:\.[a-z]{1,8})?|"
    r"(?:package\.json|pyproject\.toml|requirements\.txt|\.gitignore|\.gitattributes|\.editorconfig)",
    re.IGNORECASE,
)
_ANYWHERE = """.md .mdx .txt .rst .json .jsonl .yaml .yml .toml .xml .xsd .csv .tsv .html .css .sql .ipynb
    .py .sh .js .ts .ps1 .cs .java .go .rs .rb"""
_IN_SCRIPTS = """.bash .zsh .fish .mjs .cjs .mts .tsx .jsx .psm1 .psd1 .pl .php .lua .r .kt .swift .csx .awk .sed .jq
    .bat .cmd .cfg .ini .lock"""
_IN_REFERENCES = """.adoc .pdf .png .jpg .jpeg .gif .svg .webp .mmd .puml .drawio .excalidraw"""
_USUAL = {
    "scripts": frozenset(f"{_ANYWHERE} {_IN_SCRIPTS}".split()),
    "references": frozenset(f"{_ANYWHERE} {_IN_REFERENCES}".split()),
}


def forbidden_content(path: str, data: bytes) -> Iterator[Finding]:
    """Yield the security issues of one file: it is an executable binary, or contains a private key."""
    if _is_executable(data[:_HEAD]):
        yield security_issue("program", "the file is an executable binary (ELF, PE or Mach-O)", path)
    if holds_private_key(data):
        yield security_issue("private-key", "the file contains a private key", path)


def _is_executable(head: bytes) -> bool:
    magic = head[:4]
    if magic == b"\x7fELF" or magic in _MACH_O:
        return True
    if magic in _FAT_MACH_O:  # a Java class has the same magic, followed by its version, which is 45 or more
        return min(int.from_bytes(head[4:8], order) for order in ("big", "little")) < 45
    if magic[:2] != b"MZ":
        return False
    header = int.from_bytes(head[60:64], "little")
    return head[header : header + 4] == b"PE\0\0" or b"\0" in head[:64]


def author_warnings(path: str, data: bytes) -> Iterator[Finding]:
    """Yield warnings about a file that the author cannot mean to publish: with secrets, without content, or broken."""
    if is_secret(path):
        message = "a file of this name usually holds keys or passwords, and all who read the skill can read it"
        yield quality_warning("secret-file", message, path, "low")
    if is_lfs_pointer(data):
        message = "the file is a pointer of git LFS, and all who install the skill get the pointer: run git lfs pull"
        yield quality_warning("lfs-pointer", message, path)
    if _is_crlf_script(data[:_HEAD]):
        message = "its first line ends as on Windows (CRLF), so Linux and macOS cannot start it: save it with LF"
        yield quality_warning("crlf-script", message, path)
    if path == SKILL_FILE and (placeholder := placeholder_in(data.decode("utf-8", "replace"))):
        yield quality_warning("placeholder", f"the file still says '{placeholder}'", SKILL_FILE)


def _is_crlf_script(head: bytes) -> bool:
    """Return whether a file names its interpreter in a line whose end would become a part of that name."""
    return head.startswith(b"#!") and head.partition(b"\n")[0].endswith(b"\r")


def layout_warnings(files: Iterable[FileEntry], outside: Iterable[str]) -> Iterator[Finding]:
    """Yield warnings about unusual files. `outside` are the names outside the root of the package."""
    files = list(files)
    top = dict.fromkeys(_top(file.path) for file in files)
    unexpected = [name for name in top if not _EXPECTED.fullmatch(name)]
    for name in islice([*unexpected, *dict.fromkeys(_top(name) for name in outside)], _MAX_PER_RULE):
        yield quality_warning("unexpected-entry", "packages usually have no such entry at the top level", name)
    for file in islice((file for file in files if _is_unusual(file.path)), _MAX_PER_RULE):
        yield quality_warning("unusual-extension", "the file type is unusual for its folder", file.path)
    for file in islice((file for file in files if file.path.endswith("/" + SKILL_FILE)), _MAX_PER_RULE):
        yield quality_warning("skill-within", "another skill within the skill counts as a separate one", file.path)
    for file in files:
        if file.path == SKILL_FILE and file.size > _LONG_SKILL_FILE:
            yield quality_warning("long-skill-file", f"the file is larger than {_LONG_SKILL_FILE:,} bytes", SKILL_FILE)


def _top(path: str) -> str:
    name, slash, _ = path.partition("/")
    return name + slash


def _is_unusual(path: str) -> bool:
    suffix, usual = PurePosixPath(path).suffix.lower(), _USUAL.get(path.partition("/")[0])
    return usual is not None and suffix != "" and suffix not in usual
