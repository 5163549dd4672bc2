"""Reads YAML as plain text: strings, lists and mappings with their positions; and writes it.

Front matter comes from untrusted authors, so this reads a harmless part of YAML: one document, no tags, anchors or
aliases, a bounded depth, and every scalar stays the text that was written (`1.10` is "1.10", `no` is "no").
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Value = str | list[Any] | dict[str, Any]
"""A string, or a list or mapping of such values."""

MAX_DEPTH = 8
"""The maximum nesting of lists and mappings, including the outermost."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_C_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{,63}")
_NO_WIDTH = 2**31 - 1
"""The longest line that libyaml accepts."""

_TWO_PLACES = frozenset("\r\x85\u2028\u2029")
"""Characters that YAML treats as line breaks or changes, unless they are escaped in double quotes."""


class YamlError(Exception):
    """The text is not YAML of the supported kind.

    `field` is the path of the invalid field, or empty. `line` is that of the problem, from 0, if it is known.
    """

    def __init__(self, message: str, field: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.line = line


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One key of a mapping. `start` is the index of the key's first character."""

    key: str
    start: int
    node: "Node"


def first_values(entries: Iterable["YamlEntry"]) -> dict[str, Value]:
    """Return the value of each key of a mapping, the first of a repeated one."""
    values: dict[str, Value] = {}
    for entry in entries:
        values.setdefault(entry.key, entry.node.value)
    return values


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position: characters `start` to `end`, without comments and blank lines after it.

    `flow` tells `[a]` and `{a: b}` from the indented form. `entries` are a mapping's keys as written,
    repeated ones too; `value` has the first of each.
    """

    value: Value
    start: int
    end: int
    flow: bool = False
    entries: tuple[YamlEntry, ...] = ()


def parse(text: str, offset: int = 0) -> tuple[Node | None, list[str]]:
    """Return the root node (None for an empty document) and the paths of repeated keys.

    `offset` is added to every index. Raises YamlError.
    """
    reader = _Reader(text, offset)
    try:
        return reader.document(), reader.repeated
    except yaml.MarkedYAMLError as error:
        # What is not closed is reported at the end of the text; its beginning says more.
        at_end = error.problem is not None and "end of stream" in error.problem
        mark = (error.context_mark if at_end else None) or error.problem_mark
        line = mark.line if mark else 0
        raise YamlError(f"line {line + 1}: {error.problem or error.context}", line=line) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise YamlError("there are characters that YAML does not allow") from None


class _Reader:
    """Builds nodes from the events of the parser. Unsupported YAML is refused before anything is built from it."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self.repeated: list[str] = []

    def document(self) -> Node | None:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        root = self._node(next(self._events), 1, "")
        next(self._events)
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise YamlError("there is more than one document")
        return root

    def _node(self, event: Any, depth: int, path: str) -> Node:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise YamlError("anchors and aliases are not allowed", path)
        if event.tag is not None:
            raise YamlError("tags are not allowed", path)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if depth > MAX_DEPTH:
            raise YamlError(f"lists and mappings are nested more than {MAX_DEPTH} deep", path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, depth, path)
        return self._sequence(event, depth, path)

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):  # a block scalar ends where the next node starts
            end = start + len(self._text[start:end].rstrip())
        return Node(event.value, start + self._offset, end + self._offset)

    def _sequence(self, opening: Any, depth: int, path: str) -> Node:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1, path))
        start, end = self._span(opening, event, items[-1] if items else None)
        return Node([item.value for item in items], start, end, bool(opening.flow_style))

    def _mapping(self, opening: Any, depth: int, path: str) -> Node:
        entries: list[YamlEntry] = []
        value: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlError("a key must be plain text", path)
            key_node = self._node(event, depth, path)
            key = str(key_node.value)
            key_path = f"{path}.{key}" if path else key
            node = self._node(next(self._events), depth + 1, key_path)
            entries.append(YamlEntry(key, key_node.start, node))
            if key in value:
                self.repeated.append(key_path)
            value.setdefault(key, node.value)
        start, end = self._span(opening, event, entries[-1].node if entries else None)
        return Node(value, start, end, bool(opening.flow_style), tuple(entries))

    def _span(self, opening: Any, closing: Any, last: Node | None) -> tuple[int, int]:
        start = opening.start_mark.index + self._offset
        if opening.flow_style or last is None:
            return start, closing.end_mark.index + self._offset
        return start, last.end


class _BlockDumper(yaml.SafeDumper):
    """Indents lists, and writes multi-line text as a literal block if that keeps every character."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def represent_text(self, text: str) -> yaml.ScalarNode:
        # Line breaks at the end of a literal block would make the last field end in an end-of-document marker.
        keeps_end = text.endswith("\n\n") or text == "\n"
        style = '"' if keeps_end or _TWO_PLACES & set(text) else "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockDumper.add_representer(str, _BlockDumper.represent_text)


class _QuickDumper(_C_DUMPER):  # type: ignore[misc]
    """Writes mappings of ASCII texts as `_BlockDumper` does, in a fifth of the time."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    represent_text = _BlockDumper.represent_text


_QuickDumper.add_representer(str, _QuickDumper.represent_text)


class _FlowDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump_block(fields: Mapping[str, Value]) -> str:
    """Return the mapping as indented YAML that ends in a line break."""
    text = yaml.dump(
        dict(fields),
        Dumper=_QuickDumper if _is_simple(fields) else _BlockDumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=_NO_WIDTH,
    )
    return str(text)


def _is_simple(value: Value | Mapping[str, Value]) -> bool:
    """Return whether both dumpers write the same: libyaml escapes emoji, and indents lists less."""
    if isinstance(value, str):
        return value.isascii()
    return isinstance(value, Mapping) and all(
        _SIMPLE_KEY.fullmatch(key) is not None and _is_simple(item) for key, item in value.items()
    )


def dump_flow(value: Value) -> str:
    """Return the value on one line in the subset that JSON and YAML share, with all strings in double quotes."""
    text = yaml.dump(
        value,
        Dumper=_FlowDumper,
        default_flow_style=True,
        default_style='"',
        sort_keys=False,
        allow_unicode=True,
        width=_NO_WIDTH,
    )
    return str(text).rstrip("\n")
