"""Reads the front matter of a SKILL.md: fields between two `---` lines at its beginning, then the body.

Two readings: the strict one accepts what the Agent Skills format allows and names what it refuses; the
lenient one, for folders people already have, keeps whatever can be understood and warns of what was wrong.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from registry.parsing.yaml_text import Node, Value, YamlEntry, YamlError, parse

MAX_BLOCK = 16 * 1024
"""The maximum size of front matter in bytes, without the fences."""

_MAX_RECOVERED = 500
"""The maximum number of fields that are recovered from front matter that is not valid YAML."""

_BOM = "\ufeff"
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_INDENTED_CLOSING = re.compile(r"^[ \t]+---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"\A([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=\s|\Z)")
_FIRST_KEY = re.compile(r"\A(?:name|description)[ \t]*:[ \t]")


class FrontMatterError(Exception):
    """The front matter is invalid. `field` is the invalid field, or `SKILL.md` for the whole block."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The content of a SKILL.md: its fields as text, the body without leading blank lines, and warnings."""

    fields: dict[str, Value]
    body: str
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Block:
    """The position of the front matter: its lines are characters `start` to `end`; the body begins at `body`.

    `mapping` has the fields with their places in the whole text; None when there are none.
    """

    start: int
    end: int
    body: int
    mapping: Node | None = None
    warnings: tuple[str, ...] = ()
    closed: bool = True


def read(text: str, *, strict: bool = False) -> FrontMatter:
    """Return the fields and the body of a SKILL.md. Strict mode raises FrontMatterError; lenient mode never fails."""
    block = locate_strictly(text) if strict else locate(text)
    fields = block.mapping.value if block.mapping else {}
    assert isinstance(fields, dict)
    return FrontMatter(fields, text[block.body :].lstrip("\r\n"), list(block.warnings))


def locate_strictly(text: str) -> Block:
    """Find front matter that conforms to the format. Raises FrontMatterError."""
    opening = _OPENING.match(text, _after_bom(text))
    if opening is None:
        raise FrontMatterError("SKILL.md", "must begin with a line of three dashes and front matter")
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_BLOCK + 8)
    if closing is None or _size(text[opening.end() : closing.start()]) > MAX_BLOCK:
        raise FrontMatterError("SKILL.md", f"front matter must end in three dashes within {MAX_BLOCK} bytes")
    try:
        mapping, repeated = _fields(text, opening.end(), closing.start())
    except YamlError as error:
        raise FrontMatterError(error.field or "SKILL.md", f"front matter: {error}") from None
    if repeated:
        raise FrontMatterError(repeated[0], "is given more than once")
    return Block(opening.end(), closing.start(), closing.end(), mapping)


def locate(text: str) -> Block:
    """Find the front matter, or what can be recovered of it, with a warning for each defect."""
    block = _edges(text)
    if block is None:
        return _without_fields(text, "there is no front matter")
    if not block.closed:
        return _recovered(text, block, "the closing line of three dashes is missing")
    try:
        mapping, repeated = _fields(text, block.start, block.end)
    except YamlError as error:
        return _recovered(text, block, str(error))
    if mapping is None and text[block.start : block.end].strip():
        return _without_fields(text, "there is no field in the front matter")
    if not repeated:
        return replace(block, mapping=mapping)
    keys = ", ".join(list(dict.fromkeys(repeated))[:5])
    return replace(block, mapping=mapping, warnings=(*block.warnings, f"given more than once, first used: {keys}"))


def _without_fields(text: str, reason: str) -> Block:
    begin = _after_bom(text)
    return Block(begin, begin, begin, None, (reason,))


def _fields(text: str, start: int, end: int) -> tuple[Node | None, list[str]]:
    node, repeated = parse(text[start:end], start)
    if node is not None and not isinstance(node.value, dict):
        raise YamlError("front matter must be `key: value` fields")
    return node, repeated


def _edges(text: str) -> Block | None:
    """Return the start and the end of the front matter, None if nothing looks like it."""
    begin = _after_bom(text)
    first = _first_content(text, begin)
    warnings: tuple[str, ...] = ()
    if first != begin:
        warnings += ("front matter does not stand at the very beginning",)
    opening = _OPENING.match(text, first)
    if opening is None and not _FIRST_KEY.match(text, first):
        return None
    if opening is None:
        warnings += ("the opening line of three dashes is missing",)
    start = opening.end() if opening else first
    limit = min(start + MAX_BLOCK, len(text))
    closing = _CLOSING.search(text, start, limit)
    if closing is None and (closing := _INDENTED_CLOSING.search(text, start, limit)):
        warnings += ("the closing line of three dashes is indented",)
    if closing is None:
        return Block(start, limit, limit, None, warnings, closed=False)
    return Block(start, closing.start(), closing.end(), None, warnings)


def _first_content(text: str, start: int) -> int:
    """Return the index of the first line with content, after blank lines and one HTML comment."""
    head = text[start : start + MAX_BLOCK]
    rest = head.lstrip()
    if rest.startswith("<!--") and "-->" in rest:
        rest = rest.partition("-->")[2].lstrip()
    return start + len(head) - len(rest)


class _Found(NamedTuple):
    """Fields read line by line. `stop` is the index after their last line; `prose` says whether text follows."""

    entries: list[YamlEntry]
    stop: int
    skipped: int
    prose: bool


def _recovered(text: str, block: Block, reason: str) -> Block:
    """Read the block line by line, each `key: value` on its own. The body begins at the first prose."""
    found = _entries(text, block.start, block.end)
    if not found.entries:
        return _without_fields(text, f"the front matter is not readable: {reason}")
    warnings = (*block.warnings, f"front matter is not valid ({reason}); it was read line by line")
    if found.skipped:
        warnings += (f"{found.skipped} lines of the front matter were not understood",)
    fields: dict[str, Value] = {}
    for entry in found.entries:
        fields.setdefault(entry.key, entry.node.value)
    mapping = Node(fields, block.start, found.stop, entries=tuple(found.entries))
    if block.closed and not found.prose:
        return replace(block, mapping=mapping, warnings=warnings)
    return replace(block, end=found.stop, body=found.stop, mapping=mapping, warnings=warnings, closed=False)


def _entries(text: str, start: int, end: int) -> _Found:
    chunks: list[tuple[int, int]] = []
    skipped = 0
    blank_before = prose = False
    lines = _lines(text, start, end)
    for number, (at, line) in enumerate(lines):
        if len(chunks) == _MAX_RECOVERED and _KEY.match(line):
            skipped += sum(bool(rest.strip()) for _, rest in lines[number:])
            break
        blank = not line.strip()
        if _KEY.match(line):
            chunks.append((at, at + len(line)))
        elif chunks and not blank and line.startswith((" ", "\t", "- ")):
            chunks[-1] = (chunks[-1][0], at + len(line))
        elif prose := bool(chunks) and blank_before and not blank and not _key_follows(lines, number):
            break
        elif not blank and not line.startswith("#"):
            skipped += 1
        blank_before = blank
    stop = chunks[-1][1] if chunks else start
    return _Found([_entry(text, first, last) for first, last in chunks], stop, skipped, prose)


def _lines(text: str, start: int, end: int) -> list[tuple[int, str]]:
    lines = []
    for line in text[start:end].split("\n"):
        lines.append((start, text[start : min(start + len(line) + 1, end)]))
        start += len(line) + 1
    return lines


def _key_follows(lines: list[tuple[int, str]], number: int) -> bool:
    return number + 1 < len(lines) and _KEY.match(lines[number + 1][1]) is not None


def _entry(text: str, start: int, end: int) -> YamlEntry:
    """Read one field as YAML, or as plain text if it is not YAML."""
    chunk = text[start:end]
    key = _KEY.match(chunk)
    assert key is not None
    try:
        node, _ = parse(chunk, start)
        if node is not None and len(node.entries) == 1:
            return node.entries[0]
    except YamlError:
        pass
    value = _bare(" ".join(chunk[key.end() :].split()))
    after_key = chunk[key.end() :]
    value_start = start + key.end() + len(after_key) - len(after_key.lstrip(" \t"))
    return YamlEntry(key[1], start, Node(value, value_start, max(value_start, start + len(chunk.rstrip()))))


def _bare(value: str) -> str:
    """Remove what is not text in YAML: a leading block indicator, or quotes around the whole."""
    if value[:2] in ("| ", "> ") or value[:3] in ("|- ", ">- "):
        return value.partition(" ")[2]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _after_bom(text: str) -> int:
    return 1 if text.startswith(_BOM) else 0


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
