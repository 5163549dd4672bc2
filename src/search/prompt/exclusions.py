"""What a request says must not come: `not for X`, `without X`, `except X`, `instead of X`, `no X`.

A request in another language says so with `ohne X`, `sans X`, `sin X`, `без X`, `不用X`, `Xなしで` or `X 없이`.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from search.stop_words import STOP_WORDS

_CLOSING = "\"'`”’) "
_MOST = 3
_MOST_WORDS = 4
_READ = 12_000

_CUE = re.compile(
    r"""\b(?:
    without(?:\ (?:using|any|the|a|an))* | except(?:\ (?:for|the))* | excluding | apart\ from | other\ than
    | (?:any|every|some)thing\ (?:but|except)
    | alternatives?\ (?:to|for)(?:\ (?:using|the|a|an))*
    | (?:instead\ of|rather\ than|avoid|avoiding|exclude|skip)(?:\ (?:using|the|any|a))*
    | (?:do\ not|don['’]?t|never)\ (?:want|use|need|like|suggest|recommend|show|give|propose)
      (?:\ (?:me|to|use|the|any|a))*
    | (?:that|which)(?:\ is\ not|\ isn['’]?t|['’]s\ not)(?:\ (?:for|in|on|about|the|a|an))*
    | not(?:\ (?:with|for|in|on|via|by|from|using|about|the|a|an))* | no
    )\ (?=\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_CUE_ELSEWHERE = re.compile(
    r"""\b(?:
    ohne | (?:nicht|nur\ nicht)\ (?:mit|in|für|über) | außer | statt | kein(?:e|en|em|er)?
    | sans | pas\ (?:avec|de|dans|pour) | sauf | au\ lieu\ de
    | sin | no\ con | excepto | salvo | en\ (?:vez|lugar)\ de
    | senza | non\ con | tranne | invece\ di | al\ posto\ di
    | sem | não\ com | exceto | em\ vez\ de
    | zonder | niet\ met | behalve | in\ plaats\ van
    | bez | без | кроме | вместо | не\ (?:с|через)
    )\ (?:(?:utiliser|usar|utilizar|usare|utilizzare|le|la|el|il|o|a|os|las|los|les|die|das|den|der|een|het)\ )*(?=\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BESIDE_CHARACTERS = re.compile(
    r"""(?:不要?(?:使用|用|借助|依赖)|别用|不通过|无需|除了)\ ?
    (?P<after>[A-Za-z][\w.+#-]{0,40}(?:\ [A-Z][\w.+#-]{0,40}){0,2})
    | (?<![\w.+\#-])(?P<before>[A-Za-z][\w.+#-]{0,40}(?:\ [A-Z][\w.+#-]{0,40}){0,2})\ ?
    (?:を?使わず|以外|なしで|抜きで|ではなく|없이|대신
    |(?:[을를]\ ?(?:쓰지|사용하지)\ )?말고|[을를]?\ ?(?:빼고|제외|쓰지\ 않고|사용하지\ 않고))
    """,
    re.ASCII | re.VERBOSE,
)
"""Chinese before a name in Latin letters; Japanese and Korean after it."""

_ALTERNATIVE = "alternative"

_OR = re.compile(r",? (?:n?or|oder|ou|od|или|o) ", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_THING_WORD = re.compile(r"[\"'`“‘(]?([^\s.,;:!?()\"“”]+(?:\.[^\s.,;:!?()\"“”]+)*)([\s.,;:!?)\"”’]*)")

_OF_STATES = frozenset({"not", "no", "that", "which"})
"""The first words of cues that may say how something is."""

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
    """What a request does not want, as it is written, and where in the text the phrase is that says so.

    `is_model` is true where the request wants something like it, and says nothing else: `a free alternative to X`.
    """

    thing: str
    start: int
    end: int
    is_model: bool = False


def exclusions(text: str, *, foreign: bool = False) -> list[Exclusion]:
    """Return what a request does not want, at most three things. The time is linear in the text.

    `foreign` says that the text is not English: `sin` and `sans` mean something else in English.
    """
    if len(text) > _READ:
        return []
    first = islice(_elsewhere(text) if foreign else _in_english(text), _MOST)
    return sorted(first, key=lambda exclusion: exclusion.start)


def _elsewhere(text: str) -> Iterator[Exclusion]:
    for cue in _CUE_ELSEWHERE.finditer(text):
        yield from _list_of(text, cue)
    for match in _BESIDE_CHARACTERS.finditer(text):
        yield Exclusion(match["after"] or match["before"], match.start(), match.end())


def _in_english(text: str) -> Iterator[Exclusion]:
    for cue in _CUE.finditer(text):
        first = cue[0].split()[0].lower()
        if first in _OF_STATES and not _excludes(text, cue, first):
            continue
        if first.startswith("avoid") and _AIM.search(text, max(0, cue.start() - 40), cue.start()):
            continue
        listed = list(_list_of(text, cue))
        end = listed[-1].end if listed else 0
        if not (first == "no" and (_IS_MISSING.match(text, end) or _IS_WANTED.match(text, end))):
            yield from listed


def _list_of(text: str, cue: re.Match[str]) -> Iterator[Exclusion]:
    """Yield the things that follow a cue: one, or a list with *or*."""
    start, position = cue.span()
    for _ in range(_MOST):
        thing, end = _thing(text, position)
        if not thing:
            return
        is_alternative = cue[0].lower().startswith(_ALTERNATIVE)
        yield Exclusion(thing, start, end, is_alternative and not _says_more(text[end:]))
        following = _OR.match(text, end)
        if following is None:
            return
        start, position = end, following.end()


def _says_more(text: str) -> bool:
    """Return whether what follows an exclusion says what the request is about."""
    return any(word[1].lower() not in STOP_WORDS for word in _THING_WORD.finditer(text))


def _excludes(text: str, cue: re.Match[str], first: str) -> bool:
    """Return whether a *not* or *no* is about a thing, and not about a state: `a page that is not loading`."""
    before = text[max(0, cue.start() - 40) : cue.start()]
    words = before.split()
    in_sentence = bool(words) and before[-1:] == " " and words[-1].lower() in _VERBS
    is_bare = len(cue[0].split()) == 1 or first in ("that", "which")
    following = _WORD.match(text, cue.end())
    word = following[0].strip(".,;:!?)").lower() if following else ""
    is_state = word in _STATES or (is_bare and word.endswith(("ing", "ed")))
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
