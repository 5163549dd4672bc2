"""Reads when a skill is used, as its author puts it beside the description.

Claude Code reads `when_to_use`. Others write `triggers`, `read_when` or `keywords`, as a list, a text or mappings, at
the top of the front matter or in its `metadata`.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, islice

from registry.parsing.yaml_text import Value

_SENTENCES = frozenset({"whentouse", "readwhen", "usewhen"})
"""The keys of sentences, which have commas, without hyphens and underscores."""

_LABELS = frozenset({"triggers", "trigger", "triggerphrases", "triggerwords", "keywords", "aliases"})
"""The keys of words and phrases."""

_MOST = 30
_MOST_READ = 200
_CHARACTERS = 200
_ALL_CHARACTERS = 1_000
_ITEM = re.compile(r"^[-*•]\s+")
_BETWEEN_LABELS = re.compile(r"[,，、;|]")


def triggers_of(fields: Mapping[str, Value], metadata: Mapping[str, Value]) -> list[str]:
    """Return the occasions and phrases that front matter names, each once.

    They are at most 30 of at most 200 characters, and 1,000 characters together.
    """
    phrases: dict[str, str] = {}
    for section in (fields, metadata):
        for key, value in section.items():
            kind = re.sub(r"[-_]", "", key).lower()
            if kind in _SENTENCES or kind in _LABELS:
                for text in islice(_texts(value, divided=kind in _LABELS), _MOST_READ):
                    phrases.setdefault(text.casefold(), text[:_CHARACTERS].rstrip())
    lengths = accumulate(map(len, phrases.values()))
    return [text for text, length in zip(phrases.values(), lengths, strict=True) if length <= _ALL_CHARACTERS][:_MOST]


def _texts(value: Value, *, divided: bool) -> Iterator[str]:
    """Yield the texts in a value, without marks of lists; each phrase of a line on its own if it is `divided`."""
    if isinstance(value, str):
        for line in value.splitlines():
            for part in _BETWEEN_LABELS.split(line) if divided else [line]:
                if text := _ITEM.sub("", " ".join(part.split())):
                    yield text
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from _texts(item, divided=divided)
