"""What is wrong with front matter, in the words of its author, and what a reader makes of it."""

import re
from dataclasses import replace
from typing import NamedTuple

from registry.parsing.yaml_text import Node, YamlEntry, YamlError, first_values

WHOLE = "SKILL.md"
"""The field of a defect of the whole block."""

_KEY_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(.*)")
_COMMENT = re.compile(r"(?<![ \t])[ \t]++#[^\r\n]*")
_PROSE = frozenset({"description", "compatibility", "when_to_use", "when-to-use", "argument-hint"})
"""The fields that are sentences. In others, what follows ` #` is a comment."""

_SMALL = frozenset({"name", "description", "license", "version", "author", "tags", "metadata", "compatibility"})
"""The fields that are read from a key in other letters too, such as `Name`."""

_REASONS = {
    **dict.fromkeys("&*!@`%", ": it begins with a character that has a meaning in YAML"),
    **dict.fromkeys("[{", ", or close every bracket of it and put commas between its items"),
    **dict.fromkeys("'\"", " that are closed, and write a quote in it twice or with a backslash"),
}
"""How advice ends, by the first character of a value."""

_QUOTED = re.compile(r"[\"'|>\[{]")


_UNINDENTED = re.compile(r"\n(?=[^ \t\r\n])")
"""The end of a line after which text begins at the margin."""


class Defect(NamedTuple):
    """One defect of front matter.

    Args:
        advice: What its author has to do.
        warning: What was guessed, dropped or repaired; empty if another defect says it.
        field: The field that is affected, WHOLE for the whole block.
        line: The line in the file, from 1.
        refused: Whether the skill cannot be published with it.
    """

    advice: str
    warning: str = ""
    field: str = WHOLE
    line: int | None = 1
    refused: bool = True


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
    for phrase, advice in (
        ("mapping values are not allowed", f"{quote}: it contains a colon and a space"),
        ("aliases are not allowed", f"{quote}: & and * have a meaning in YAML, which is not allowed here"),
        ("tags are not allowed", f"{quote}: ! has a meaning in YAML, which is not allowed here"),
        ("nested more than", problem),
        ("more than one document", "remove the line of dashes in the front matter"),
        ("must be `key", "write each field as `key: value` on a line of its own"),
        ("characters that YAML does not allow", "remove control characters"),
    ):
        if phrase in problem:
            return advice
    return f"{quote}{_REASONS.get(value[:1], ', and indent each of its further lines by two spaces')}"


def _cut_by_comment(text: str, entry: YamlEntry) -> Node | None:
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


def whole_lines(text: str, mapping: Node) -> tuple[Node, list[Defect]]:
    """Return the mapping with the prose that YAML cuts at ` #`, where a comment begins, and a defect for each field."""
    defects: list[Defect] = []
    entries: list[YamlEntry] = []
    for entry in mapping.entries:
        whole = _cut_by_comment(text, entry)
        entries.append(entry if whole is None else replace(entry, node=whole))
        if whole is not None:
            quote = f"put the value of `{entry.key}` in quotes"
            advice = f"{quote}: ` #` begins a comment, and agents read only what is before it"
            warning = f"the {entry.key} has ` #`, where a comment begins in YAML; the whole line was read"
            defects.append(Defect(advice, warning, entry.key, line_of(text, entry.start), refused=False))
    if not defects:
        return mapping, []
    end = entries[-1].node.end
    return replace(mapping, value=first_values(entries), entries=tuple(entries), end=end), defects


def unindented_texts(text: str, mapping: Node) -> list[Defect]:
    """Return a defect for each text in quotes whose further lines begin at the margin.

    YAML 1.1 allows them, and 1.2 does not: with an error there, Claude Code reads no field at all.
    """
    return [
        Defect(
            f"indent the further lines of `{entry.key}` by two spaces: some agents read none of the fields otherwise",
            f"the {entry.key} has lines that are not indented, which some agents refuse",
            entry.key,
            line_of(text, entry.start),
            refused=False,
        )
        for entry in mapping.entries
        if text.startswith(("'", '"'), entry.node.start) and _UNINDENTED.search(text, entry.node.start, entry.node.end)
    ]


def with_small_keys(text: str, mapping: Node) -> tuple[Node, list[Defect]]:
    """Return the mapping with the keys of known fields in small letters, and a defect for each that was not.

    Of several keys for one field, the first counts.
    """
    missing = set(_SMALL - {entry.key for entry in mapping.entries})
    entries: list[YamlEntry] = []
    defects: list[Defect] = []
    for entry in mapping.entries:
        small = entry.key.lower()
        if small not in missing:
            entries.append(entry)
        else:
            missing.remove(small)
            advice = f"write `{small}` instead of `{entry.key}`: agents read only small letters"
            warning = f"`{entry.key}` was read as `{small}`"
            defects.append(Defect(advice, warning, small, line_of(text, entry.start)))
            entries.append(replace(entry, key=small))
    if not defects:
        return mapping, []
    return replace(mapping, value=first_values(entries), entries=tuple(entries)), defects


def line_of(text: str, index: int) -> int:
    """Return the number of the line at an index, from 1."""
    return text.count("\n", 0, index) + 1
