"""Writes new SKILL.md files, and changes front matter without touching any other byte."""

from collections.abc import Mapping

from registry.parsing.frontmatter import Block, FrontMatterError, locate, read
from registry.parsing.yaml_text import Node, Value, YamlEntry, YamlError, dump_block, dump_flow, parse

_NESTED = "metadata"


def render(fields: Mapping[str, Value], body: str) -> str:
    """Return a new SKILL.md: front matter with these fields, a blank line, and the body."""
    text = body.strip("\r\n")
    return f"---\n{dump_block(fields)}---\n" + (f"\n{text}\n" if text else "")


def patch(text: str, changes: Mapping[str, Value | None]) -> str:
    """Return the SKILL.md with these fields set, or removed if the value is None.

    A key is a field's name, or `metadata.` and a name within `metadata`. New fields come last; a file without
    front matter gets some. Comments, order, quoting, line ends and the body stay as they are.
    Raises FrontMatterError when the result would not read back as requested: broken front matter may do that.
    """
    result = text
    for key, value in changes.items():
        result = _changed(result, key, value)
    _check(text, result, changes)
    return result


def with_body(text: str, body: str) -> str:
    """Return the SKILL.md with another body, with the line endings of the file. Raises FrontMatterError."""
    block = locate(text)
    newline = _newline(text)
    head, rest = text[: block.body], text[block.body :]
    if head and not head.endswith("\n") and block.mapping:
        head += newline
    if block.mapping and not block.closed:
        head += f"---{newline}"
    blank = rest[: len(rest) - len(rest.lstrip("\r\n"))]
    lines = body.replace("\r\n", "\n").strip("\n") + "\n"
    result = head + blank + lines.replace("\n", newline)
    if read(result).fields != read(text).fields:
        raise FrontMatterError("content", "would be taken for front matter")
    return result


def _changed(text: str, key: str, value: Value | None) -> str:
    block = locate(text)
    outer, inner = _split(key)
    if not inner:
        return _with_field(text, block, outer, value)
    entry = _first(block.mapping, _NESTED)
    if entry is None or not entry.node.entries:
        return text if value is None else _with_field(text, block, _NESTED, {inner: value})
    if value is None and all(field.key == inner for field in entry.node.entries):
        return _with_field(text, block, _NESTED, None)
    end = _line_end(text, entry.node.entries[-1].node.end)
    return _with_entry(text, entry.node, inner, value, end)


def _with_field(text: str, block: Block, key: str, value: Value | None) -> str:
    if block.mapping is not None and block.mapping.entries:
        return _with_entry(text, block.mapping, key, value, block.end)
    if value is None:
        return text
    lines = _lines({key: value}, 0, text)
    if block.body > block.start:  # closed, and without a field
        return text[: block.end] + lines + text[block.end :]
    newline = _newline(text)
    fence = f"---{newline}"
    return text[: block.body] + fence + lines + fence + newline + text[block.body :]


def _with_entry(text: str, mapping: Node, key: str, value: Value | None, end: int) -> str:
    """Set or remove one key of a mapping. In an indented mapping, a new key goes to `end`."""
    numbers = [number for number, entry in enumerate(mapping.entries) if entry.key == key]
    if value is None:
        return _cut(text, mapping, numbers)
    if not numbers:
        return _added(text, mapping, key, value, end)
    text = _cut(text, mapping, numbers[1:])  # repeated keys: some readers use the last
    return _replaced(text, mapping, mapping.entries[numbers[0]], value)


def _added(text: str, mapping: Node, key: str, value: Value, end: int) -> str:
    if mapping.flow:
        pair = dump_flow({key: value})[1:-1]
        before = text[: mapping.end - 1].rstrip()
        comma = "" if before.endswith((",", "{")) else ", "
        return before + comma + pair + text[len(before) :]
    lines = _lines({key: value}, _column(text, mapping.entries[0].start), text)
    if not text[:end].endswith("\n"):
        lines = _newline(text) + lines
    return text[:end] + lines + text[end:]


def _cut(text: str, mapping: Node, numbers: list[int]) -> str:
    """Remove these entries: their lines, or in a flow mapping also the comma beside them."""
    if not numbers:
        return text
    for start, end in reversed(_flow_cuts(mapping, numbers) if mapping.flow else _line_cuts(text, mapping, numbers)):
        text = text[:start] + text[end:]
    return text


def _line_cuts(text: str, mapping: Node, numbers: list[int]) -> list[tuple[int, int]]:
    entries = [mapping.entries[number] for number in numbers]
    return [(_line_start(text, entry.start), _entry_end(text, entry)) for entry in entries]


def _flow_cuts(mapping: Node, numbers: list[int]) -> list[tuple[int, int]]:
    entries = mapping.entries
    first_left = next((number for number in range(len(entries)) if number not in numbers), len(entries))
    cuts = [(entries[n - 1].node.end, entries[n].node.end) for n in numbers if n > first_left]
    if first_left == len(entries):
        return [(entries[0].start, entries[-1].node.end)]
    return [(entries[0].start, entries[first_left].start), *cuts] if first_left else cuts


def _replaced(text: str, mapping: Node, entry: YamlEntry, value: Value) -> str:
    """Replace a value, on the same line if both fit on one, so that a comment there stays."""
    old = entry.node
    written = text[old.start : old.end]
    one_line = "\n" not in written and not written.startswith(("|", ">"))
    new = dump_flow(value) if mapping.flow or old.flow else _scalar(value)
    if mapping.flow or (new and one_line and (old.flow or not isinstance(old.value, dict | list))):
        gap = "" if text[old.start - 1] in " \t" else " "
        return text[: old.start] + gap + new + text[old.end :]
    lines = _lines({entry.key: value}, _column(text, entry.start), text)
    return text[: _line_start(text, entry.start)] + lines + text[_entry_end(text, entry) :]


def _scalar(value: Value) -> str:
    """Return the text after a key, empty if it takes more than one line or is not plain text."""
    if not isinstance(value, str):
        return ""
    line = dump_block({"key": value})
    if line.count("\n") > 1:
        return ""
    try:
        node, _ = parse(line)
    except YamlError:  # half a surrogate pair
        return ""
    assert node is not None
    written = node.entries[0].node
    return line[written.start : written.end]


def _lines(fields: Mapping[str, Value], column: int, text: str) -> str:
    lines = dump_block(fields).splitlines(keepends=True)
    indented = "".join(" " * column + line if line.strip() else line for line in lines)
    return indented.replace("\n", _newline(text))


def _newline(text: str) -> str:
    first, newline, _ = text.partition("\n")
    return "\r\n" if newline and first.endswith("\r") else "\n"


def _column(text: str, index: int) -> int:
    return index - _line_start(text, index)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _entry_end(text: str, entry: YamlEntry) -> int:
    """Return the end of an entry's lines, including comments indented below its key, which could otherwise
    become part of a text before them."""
    column = _column(text, entry.start)
    end = at = _line_end(text, entry.node.end)
    while at < len(text):
        next_at = _line_end(text, at)
        line = text[at:next_at]
        inner = line.lstrip(" \t")
        if inner.startswith("#") and len(line) - len(inner) > column:
            end = next_at
        elif inner.strip():
            break
        at = next_at
    return end


def _first(mapping: Node | None, key: str) -> YamlEntry | None:
    entries = mapping.entries if mapping else ()
    return next((entry for entry in entries if entry.key == key), None)


def _split(key: str) -> tuple[str, str]:
    """Return the name of a field and, for a name within `metadata`, the inner name."""
    outer, _, inner = key.partition(".")
    return (outer, inner) if outer == _NESTED and inner else (key, "")


def _check(before: str, after: str, changes: Mapping[str, Value | None]) -> None:
    """Read the result back: the changes must be there, and everything else must be unchanged."""
    expected, got = read(before), read(after)
    for key, value in changes.items():
        _apply(expected.fields, key, value)
    if expected.fields != got.fields or expected.body != got.body:
        raise FrontMatterError(", ".join(changes), "cannot be changed in this front matter")


def _apply(fields: dict[str, Value], key: str, value: Value | None) -> None:
    outer, inner = _split(key)
    if not inner:
        _put(fields, outer, value)
        return
    nested = fields.get(_NESTED)
    if value is None and not (isinstance(nested, dict) and inner in nested):
        return
    nested = dict(nested) if isinstance(nested, dict) else {}
    _put(nested, inner, value)
    _put(fields, _NESTED, nested or None)


def _put(fields: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        fields.pop(key, None)
    else:
        fields[key] = value
