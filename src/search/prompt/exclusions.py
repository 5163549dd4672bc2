"""What a request says must not come: `not for X`, `without X`, `except X`, `instead of X`, `no X`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLOSING = "\"'`”’) "
_MOST = 3
_MOST_WORDS = 4
_READ = 12_000

_CUE = re.compile(
    r"""\b(?:
    without(?:\ (?:using|any|the|a|an))* | except(?:\ (?:for|the))* | excluding | apart\ from | other\ than
    | (?:anything|everything)\ but | (?:instead\ of|rather\ than|avoid|avoiding|exclude|skip)(?:\ (?:using|the|any|a))*
    | (?:do\ not|don['’]?t|never)\ (?:want|use|need|like|suggest|recommend|show|give|propose)
      (?:\ (?:me|to|use|the|any|a))*
    | not(?:\ (?:with|for|in|on|via|by|from|using|about|the|a|an))* | no
    )\ (?=\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_THING_WORD = re.compile(r"[\"'`“‘(]?([^\s.,;:!?()\"“”]+(?:\.[^\s.,;:!?()\"“”]+)*)([\s.,;:!?)\"”’]*)")

_STATES = frozenset(
    {"able", "allowed", "available", "clear", "connected", "correct", "enough", "even", "exist", "find", "found"}
    | {"idea", "ideal", "just", "longer", "many", "matter", "more", "much", "need", "one", "only", "possible", "ready"}
    | {"reason", "start", "such", "sure", "too", "true", "valid", "work", "yet", "problem", "way", "doubt", "worries"}
)
"""Words after *not* and *no* that say how something is, not what is unwanted."""

_BOUNDS = frozenset(
    {"and", "or", "but", "please", "to", "for", "when", "because", "that", "which", "so", "then", "if", "it", "while"}
    | {"as", "from", "in", "on", "with", "by", "where", "is", "are", "was", "at", "into"}
)
"""Words that end the name of a thing."""

_VERBS = frozenset(
    {"am", "are", "be", "been", "can", "could", "did", "do", "does", "had", "has", "have", "if", "is", "may", "might"}
    | {
        "must",
        "or",
        "shall",
        "should",
        "was",
        "were",
        "why",
        "will",
        "would",
        "whether",
        "i",
        "it",
        "you",
        "we",
        "they",
        "there's",
        "there’s",
        "theres",
    }
    | {"they", "he", "she", "still"}
)
"""Words before *not* that make it a part of a sentence: `why is X not …`, `X does not …`."""


_AIM = re.compile(r"(?<!want)(?<!like)(?<!need)(?<!prefer)(?<!trying) to $", re.IGNORECASE)
"""Before *avoid*: what a task is for (`edit texts to avoid em dashes`), unlike `I want to avoid em dashes`."""

_IS_MISSING = re.compile(r" (?:is|are|was|were|has been|have been|exists?|can be)\b", re.IGNORECASE)
"""After `no X`: X is missing, and may be what the request is about (`no LSP server is configured`)."""

_IS_WANTED = re.compile(
    r"[^.!?\n]{0,60}?[,.;:!?-]\s*(?:\w+ ){0,2}(?:add|build|create|generate|make|write) (?:me |us )?one\b", re.IGNORECASE
)
"""After `no X`: X is missing and asked for (`no changelog in this repo, create one`)."""


class Exclusion(NamedTuple):
    """What a request does not want, as it is written, and where in the text the phrase is that says so."""

    thing: str
    start: int
    end: int


def exclusions(text: str) -> list[Exclusion]:
    """Return what a request does not want, at most three things. The time is linear in the text."""
    if len(text) > _READ:
        return []
    return list(_found(text))[:_MOST]


def _found(text: str) -> Iterator[Exclusion]:
    for cue in _CUE.finditer(text):
        first = cue[0].split()[0].lower()
        if first in ("not", "no") and not _excludes(text, cue):
            continue
        if first.startswith("avoid") and _AIM.search(text, max(0, cue.start() - 40), cue.start()):
            continue
        thing, end = _thing(text, cue.end())
        is_missing = first == "no" and (_IS_MISSING.match(text, end) or _IS_WANTED.match(text, end))
        if thing and not is_missing:
            yield Exclusion(thing, cue.start(), end)


def _excludes(text: str, cue: re.Match[str]) -> bool:
    """Return whether a *not* or *no* is about a thing."""
    before = text[max(0, cue.start() - 40) : cue.start()]
    words = before.split()
    in_sentence = bool(words) and before[-1:] == " " and words[-1].lower() in _VERBS
    following = _WORD.match(text, cue.end())
    word = following[0].strip(".,;:!?)").lower() if following else ""
    is_state = word in _STATES or (len(cue[0].split()) == 1 and word.endswith(("ing", "ed")))
    return not in_sentence and not is_state


def _thing(text: str, start: int) -> tuple[str, int]:
    """Return the words of a thing that begins at a place, up to a sign or a conjunction, and where it ends."""
    words: list[str] = []
    end = position = start
    while len(words) < _MOST_WORDS and (word := _THING_WORD.match(text, position)):
        if word[1].lower() in _BOUNDS:
            break
        words.append(word[1])
        end, position = word.end(1), word.end()
        if word[2].strip():
            break
    return " ".join(words), end


def without_exclusions(text: str, excluded: list[Exclusion]) -> str:
    """Return the text without the phrases."""
    for exclusion in reversed(excluded):
        text = f"{text[: exclusion.start].rstrip(' ,(')} {text[exclusion.end :].lstrip(_CLOSING)}"
    return text.strip()
