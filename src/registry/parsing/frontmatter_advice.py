"""Says in the words of an author what is wrong with YAML, and finds prose that a YAML comment would cut."""

import re
from dataclasses import replace
from typing import NamedTuple

from registry.parsing.yaml_text import Node, YamlEntry, YamlError

_KEY_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(.*)")
_COMMENT = re.compile(r"(?<![ \t])[ \t]++#[^\r\n]*")
_PROSE = frozenset({"description", "compatibility", "when_to_use", "when-to-use", "argument-hint"})
"""The fields that are sentences. In others, what follows ` #` is a comment."""

_REASONS = {
    **dict.fromkeys("&*!@`%", ": it begins with a character that has a meaning in YAML"),
    **dict.fromkeys("[{", ", or close every bracket of it and put commas between its items"),
    **dict.fromkeys("'\"", " that are closed, and write a quote in it twice or with a backslash"),
}
"""How advice ends, by the first character of a value."""

_QUOTED = re.compile(r"[\"'|>\[{]")


class Advice(NamedTuple):
    """What an author has to do. `line` counts from 0 in the text; `field` is the top-level field, if it is known."""

    text: str
    field: str
    line: int


def advice_about(text: str, error: YamlError) -> Advice:
    """Return what the author of the YAML has to do about an error."""
    lines = text.split("\n")
    number = min(error.line if error.line is not None else 0, len(lines) - 1)
    field, key_line = _field_at(lines, number, error)
    if number != key_line and _COMMENT.search(lines[key_line]):
        text = f"put the value of `{field}` in quotes: ` #` begins a comment, which ends the value"
        return Advice(text, field, key_line)
    return Advice(_advice(lines[number], field, str(error)), field, key_line if error.field else number)


def _field_at(lines: list[str], number: int, error: YamlError) -> tuple[str, int]:
    """Return the top-level field that an error is in, and its line."""
    if error.field:
        name = error.field.partition(".")[0]
        at = next((at for at, line in enumerate(lines) if (key := _KEY_LINE.match(line)) and key[1] == name), number)
        return error.field, at
    for at in range(number, -1, -1):
        if key := _KEY_LINE.match(lines[at]):
            return key[1], at
    return "", number


def _advice(line: str, field: str, problem: str) -> str:
    quote = f"put the value of `{field}` in quotes" if field else "put the value in quotes"
    value = line.partition(":")[2].strip()
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent with spaces instead of tabs"
    for found, advice in (
        ("mapping values are not allowed", f"{quote}: it contains a colon and a space"),
        ("aliases are not allowed", f"{quote}: & and * have a meaning in YAML, which is not allowed here"),
        ("tags are not allowed", f"{quote}: ! has a meaning in YAML, which is not allowed here"),
        ("nested more than", problem),
        ("more than one document", "remove the line of dashes in the front matter"),
        ("must be `key", "write each field as `key: value` on a line of its own"),
        ("characters that YAML does not allow", "remove control characters"),
    ):
        if found in problem:
            return advice
    return f"{quote}{_REASONS.get(value[:1], ', and indent each of its further lines by two spaces')}"


def cut_by_comment(text: str, entry: YamlEntry) -> Node | None:
    """Return the value of a field of prose with the comment that YAML takes off its end; None if nothing is cut."""
    node = entry.node
    if entry.key not in _PROSE or not isinstance(node.value, str) or _QUOTED.match(text, node.start):
        return None
    comment = _COMMENT.match(text, node.end)
    if comment is None:
        return None
    value = f"{node.value}{comment[0]}".strip()
    start = node.start if node.value else comment.start() + len(comment[0]) - len(comment[0].lstrip())
    return replace(node, value=value, start=start, end=comment.start() + len(comment[0].rstrip()))
