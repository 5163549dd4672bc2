"""Reads the front matter of a SKILL.md: fields between two `---` lines at its beginning, then the body.

There is one reading. It keeps whatever can be understood, and lists each defect twice: as a warning for readers, and
as advice for the author, who must follow it before the skill can be published.
"""

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from registry.domain.counts import counted
from registry.parsing.frontmatter_advice import (
    WHOLE,
    Defect,
    advice_about,
    line_of,
    unindented_texts,
    whole_lines,
    with_small_keys,
)
from registry.parsing.text_encoding import BOM
from registry.parsing.yaml_text import Node, Value, YamlEntry, YamlError, first_values, parse

MAX_BLOCK = 16 * 1024
"""The maximum size of front matter in bytes, without the fences, that may be published."""

MAX_READ = 256 * 1024
"""The maximum size of front matter that is read, in characters."""

_MAX_RECOVERED = 500
"""The maximum number of fields that are recovered from front matter that is not valid YAML."""

_LATEST = 8 * 1024
"""The last character at which front matter may begin."""

_MAX_BEFORE_FENCE = 300
"""The most characters before a code block that is front matter, and no example of some."""

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_INDENTED_CLOSING = re.compile(r"^[ \t]+---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_TOML_OPENING = re.compile(r"\+\+\+[ \t]*\r?\n")
_TOML_CLOSING = re.compile(r"^\+\+\+[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"\A([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?=\s|\Z)")
_FIRST_KEY = re.compile(r"(?:name|description)[ \t]*:[ \t]")
_LATE_OPENING = re.compile(r"^---[ \t]*\r?\n(?=(?:name|description)[ \t]*:)", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LEADING_TABS = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)


class FrontMatterError(Exception):
    """The front matter is invalid. `field` is the invalid field, or `SKILL.md` for the whole block."""

    def __init__(self, field: str, message: str, line: int | None = None) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The content of a SKILL.md: its fields as text, the body without leading blank lines, and its defects.

    `lines` has the line of each top-level field in the file, from 1.
    """

    fields: dict[str, Value]
    body: str
    warnings: list[str]
    defects: tuple[Defect, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """The position of the front matter: its lines are characters `start` to `end`; the body begins at `body`.

    `mapping` has the fields with their places in the whole text; None when there are none.
    """

    start: int
    end: int
    body: int
    mapping: Node | None = None
    defects: tuple[Defect, ...] = ()
    closed: bool = True

    def with_defects(self, *defects: Defect) -> "Block":
        """Return the block with further defects."""
        return replace(self, defects=(*self.defects, *defects))


def read(text: str, *, strict: bool = False) -> FrontMatter:
    """Return the fields and the body of a SKILL.md.

    Strict mode raises FrontMatterError for the first defect that prevents publishing; lenient mode never fails.
    """
    block = locate(text)
    refusal = next((defect for defect in block.defects if defect.refused), None) if strict else None
    if refusal is not None:
        raise FrontMatterError(refusal.field, refusal.advice, refusal.line)
    fields = block.mapping.value if block.mapping else {}
    assert isinstance(fields, dict)
    warnings = [defect.warning for defect in block.defects if defect.warning]
    lines = _field_lines(text, block.mapping.entries if block.mapping else ())
    return FrontMatter(fields, text[block.body :].lstrip("\r\n"), warnings, block.defects, lines)


def _field_lines(text: str, entries: tuple[YamlEntry, ...]) -> dict[str, int]:
    lines: dict[str, int] = {}
    line, at = 1, 0
    for entry in entries:
        line += text.count("\n", at, entry.start)
        at = entry.start
        lines.setdefault(entry.key, line)
    return lines


def locate(text: str) -> Block:
    """Find the front matter, or what can be recovered of it, with each defect."""
    block = _located(text)
    if block.mapping is None:
        return block
    mapping, defects = with_small_keys(text, block.mapping)
    return replace(block, mapping=mapping).with_defects(*defects)


def _located(text: str) -> Block:
    block = _edges(text)
    if block is None and (toml := _after_toml(text)) is not None:
        advice = (
            "write the fields as YAML, `name: …` and `description: …`, between lines of three dashes in place of +++"
        )
        reason = "the front matter is not readable: it is TOML between lines of +++, and agents read YAML"
        return Block(toml, toml, toml, None, (Defect(advice, reason),))
    if block is None:
        advice = "begin the file with a line of three dashes, `name: …`, `description: …` and a line of three dashes"
        return _without_fields(text, Defect(advice, "there is no front matter"))
    if not block.closed:
        advice = "put a line of three dashes after the last field, before the text"
        return _recovered(text, block, Defect(advice, line=None), "the closing line of three dashes is missing")
    return _with_fields(text, block)


def _with_fields(text: str, block: Block) -> Block:
    try:
        mapping, repeated = _fields(text, block.start, block.end)
    except YamlError as error:
        with_spaces = _LEADING_TABS.sub(lambda indent: " " * len(indent[0]), text[block.start : block.end])
        try:
            mapping, repeated = _mapping(with_spaces, block.start)
        except YamlError:
            mapping = None
        if with_spaces == text[block.start : block.end] or mapping is None:
            return _recovered(text, block, _yaml_defect(text, block, error))
        defect = Defect("indent with spaces instead of tabs", "front matter is indented with tabs", WHOLE)
        tab = _LEADING_TABS.search(text, block.start)
        block = block.with_defects(defect._replace(line=line_of(text, tab.start() if tab else block.start)))
    if mapping is None and text[block.start : block.end].strip():
        advice = "write each field as `key: value` on a line of its own"
        return _without_fields(text, Defect(advice, "there is no field in the front matter", line=2))
    further: list[Defect] = []
    if mapping is not None:
        mapping, further = whole_lines(text, mapping)
        further += unindented_texts(text, mapping)
    block = replace(block, mapping=mapping, defects=(*block.defects, *further))
    if not repeated:
        return block
    keys = list(dict.fromkeys(repeated))[:5]
    noted = Defect(
        f"keep one of the lines of `{keys[0]}`", f"given more than once, first used: {', '.join(keys)}", keys[0]
    )
    return block.with_defects(noted._replace(line=None))


def _yaml_defect(text: str, block: Block, error: YamlError) -> Defect:
    advice = advice_about(text[block.start : block.end], error)
    return Defect(advice.text, field=advice.field or WHOLE, line=line_of(text, block.start) + advice.line)


def _without_fields(text: str, *defects: Defect) -> Block:
    begin = _after_bom(text)
    return Block(begin, begin, begin, None, defects)


def _fields(text: str, start: int, end: int) -> tuple[Node | None, list[str]]:
    return _mapping(text[start:end], start)


def _mapping(chunk: str, offset: int) -> tuple[Node | None, list[str]]:
    node, repeated = parse(chunk, offset)
    if node is not None and not isinstance(node.value, dict):
        raise YamlError("front matter must be `key: value` fields")
    return node, repeated


def _edges(text: str) -> Block | None:
    """Return the start and the end of the front matter, None if nothing looks like it."""
    first, defects = _first_content(text, _after_bom(text))
    opening = _OPENING.match(text, first)
    if opening is None and not _FIRST_KEY.match(text, first):
        return None
    if opening is None:
        advice = "put a line of three dashes before the first field"
        defects += (Defect(advice, "the opening line of three dashes is missing", line=line_of(text, first)),)
    start = opening.end() if opening else first
    limit = min(start + MAX_READ, len(text))
    closing = _CLOSING.search(text, start, limit)
    if closing is None and (closing := _INDENTED_CLOSING.search(text, start, limit)):
        line = line_of(text, closing.start())
        advice = "write the three dashes that end the front matter at the beginning of their line"
        defects += (Defect(advice, "the closing line of three dashes is indented", line=line),)
    if closing is None:
        return Block(start, limit, limit, None, defects, closed=False)
    if _size(text[start : closing.start()]) > MAX_BLOCK:
        advice = f"front matter must be at most {MAX_BLOCK:,} bytes: move notes into the text below it"
        defects += (Defect(advice, f"the front matter is larger than {MAX_BLOCK:,} bytes"),)
    return Block(start, closing.start(), closing.end(), None, defects)


def _after_toml(text: str) -> int | None:
    """Return where the text after front matter in TOML begins, as Hugo and Zola have it; None if there is none."""
    start = _after_bom(text)
    opening = _TOML_OPENING.match(text, start)
    closing = _TOML_CLOSING.search(text, opening.end(), start + MAX_READ) if opening else None
    return closing.end() if closing else None


def _first_content(text: str, start: int) -> tuple[int, tuple[Defect, ...]]:
    """Return the index at which front matter may begin, and the defect that it does not begin the file.

    Blank lines, one HTML comment, other text and the fence of a code block may stand before it.
    """
    head = text[start : start + MAX_BLOCK]
    rest = head.lstrip()
    if rest.startswith("<!--") and "-->" in rest:
        rest = rest.partition("-->")[2].lstrip()
    first = start + len(head) - len(rest)
    if not (_OPENING.match(text, first) or _FIRST_KEY.match(text, first)):
        late = _late(text, first)
        if late is None:
            return first, ()
        first = late
    if first == start:
        return first, ()
    advice = "move the front matter to the first line of the file"
    return first, (Defect(advice, "front matter does not stand at the very beginning", line=line_of(text, first)),)


def _late(text: str, start: int) -> int | None:
    """Return where front matter begins after other text; None if there is none."""
    opening = _LATE_OPENING.search(text, start, start + _LATEST)
    if opening is None:
        return None
    fences = [fence.start() for fence in _FENCE.finditer(text, start, opening.start())]
    is_example = len(fences) % 2 and fences[-1] - start > _MAX_BEFORE_FENCE
    return None if is_example else opening.start()


class _Found(NamedTuple):
    """Fields read line by line. `stop` is the index after their last line; `prose` says whether text follows."""

    entries: list[YamlEntry]
    defects: list[Defect]
    stop: int
    skipped: int
    prose: bool


def _recovered(text: str, block: Block, defect: Defect, reason: str = "") -> Block:
    """Read the block line by line, each `key: value` on its own. The body begins at the first prose.

    `defect` is why the block cannot be read as a whole. `reason` says it to readers, its advice by default.
    """
    reading = _entries(text, block)
    where = f"line {defect.line}: " if defect.line is not None and not reason else ""
    reason = reason or f"{where}{defect.advice}"
    if not reading.entries:
        return _without_fields(text, defect._replace(warning=f"the front matter is not readable: {reason}"))
    noted = defect._replace(warning=f"front matter is not valid ({reason}); it was read line by line")
    others = [note for note in reading.defects if note.warning or note.field != defect.field]
    block = block.with_defects(noted, *others)
    if reading.skipped:
        warning = f"not understood of the front matter: {counted(reading.skipped, 'line')}"
        block = block.with_defects(Defect("write each field as `key: value`", warning, line=None))
    mapping = Node(first_values(reading.entries), block.start, reading.stop, entries=tuple(reading.entries))
    if block.closed and not reading.prose:
        return replace(block, mapping=mapping)
    return replace(block, end=reading.stop, body=reading.stop, mapping=mapping, closed=False)


def _entries(text: str, block: Block) -> _Found:
    chunks: list[tuple[int, int]] = []
    skipped = 0
    blank_before = prose = False
    lines = _lines(text, block.start, block.end)
    for number, (at, line) in enumerate(lines):
        if len(chunks) == _MAX_RECOVERED and _KEY.match(line):
            skipped += sum(bool(rest.strip()) for _, rest in lines[number:])
            break
        blank = not line.strip()
        # A line of text right below a field goes on with it, as its author meant: in YAML it would be indented.
        goes_on = block.closed and not blank_before and line[:1].isalpha()
        if _KEY.match(line):
            chunks.append((at, at + len(line)))
        elif chunks and not blank and (line.startswith((" ", "\t", "- ")) or goes_on):
            chunks[-1] = (chunks[-1][0], at + len(line))
        elif prose := bool(chunks) and blank_before and not blank and not _key_follows(lines, number):
            break
        elif not blank and not line.startswith("#"):
            skipped += 1
        blank_before = blank
    stop = chunks[-1][1] if chunks else block.start
    read_all = [_entry(text, first, last) for first, last in chunks]
    defects = [defect for _, defect in read_all if defect is not None]
    return _Found([entry for entry, _ in read_all], defects, stop, skipped, prose)


def _lines(text: str, start: int, end: int) -> list[tuple[int, str]]:
    lines = []
    for line in text[start:end].split("\n"):
        lines.append((start, text[start : min(start + len(line) + 1, end)]))
        start += len(line) + 1
    return lines


def _key_follows(lines: list[tuple[int, str]], number: int) -> bool:
    return number + 1 < len(lines) and _KEY.match(lines[number + 1][1]) is not None


def _entry(text: str, start: int, end: int) -> tuple[YamlEntry, Defect | None]:
    """Read one field as YAML, or as plain text with a defect if it is not YAML."""
    chunk = text[start:end]
    key = _KEY.match(chunk)
    assert key is not None
    try:
        node, _ = parse(chunk, start)
        if node is not None and len(node.entries) == 1:
            mapping, cut = whole_lines(text, node)
            return mapping.entries[0], cut[0] if cut else None
        defect = None
    except YamlError as error:
        advice = advice_about(chunk, error)
        defect = Defect(advice.text, "", key[1], line_of(text, start) + advice.line)
    value = _bare(" ".join(chunk[key.end() :].split()))
    after_key = chunk[key.end() :]
    value_start = start + key.end() + len(after_key) - len(after_key.lstrip(" \t"))
    return YamlEntry(key[1], start, Node(value, value_start, max(value_start, start + len(chunk.rstrip())))), defect


def _bare(value: str) -> str:
    """Remove what is not text in YAML: a leading block indicator, or quotes around the whole."""
    if value[:2] in ("| ", "> ") or value[:3] in ("|- ", ">- "):
        return value.partition(" ")[2]
    if value[:1] in ('"', "'"):
        if len(value) > 1 and value[0] == value[-1]:
            return value[1:-1]
        return value[1:] if value.count(value[0]) == 1 else value
    return value


def _after_bom(text: str) -> int:
    return len(text) - len(text.lstrip(BOM))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
