"""Greetings, thanks, courtesy and instructions about manner around a request: they say nothing about the task."""

import re
from collections.abc import Sequence

from search.prompt import manner
from search.stop_words import STOP_WORDS

_CLAUSE = re.compile(r"[^.!?:;,\n]*[.!?:;,\n]*")
_WORD = re.compile(r"[^\W\d_]+")

_READ = 600
"""The characters at each end of a request that are read for courtesy."""

_GREETINGS = frozenset({"hi", "hello", "hey", "dear", "greetings", "hiya", "howdy", "yo"})
_CLOSINGS = frozenset({"regards", "cheers", "thanks", "sincerely", "best", "yours"})
_SIGNS = _GREETINGS | frozenset(
    {
        "let",
        "know",
        "appreciate",
        "appreciated",
        "assist",
        "assistance",
        "bother",
        "cheers",
        "favor",
        "favour",
        "grateful",
        "help",
    }
    | {"helping", "hope", "hoping", "kind", "kindly", "mind", "morning", "afternoon", "evening", "please", "question"}
    | {"questions", "regards", "sincerely", "sorry", "thank", "thanks", "thankful", "thx", "ty", "welcome", "wondering"}
    | {"ok", "okay", "thanx", "pls", "plz", "ultrathink", "megathink"}
)
"""Words of which courtesy has one."""

_WORDS = (
    STOP_WORDS
    | _SIGNS
    | frozenset(
        {"advance", "able", "anyone", "assistant", "beforehand", "best", "better", "bit", "chance", "claude", "day"}
        | {"everyone", "feel", "find", "fine", "folks", "following", "free", "friend", "get", "give", "glad", "good"}
        | {"great", "guys", "happy", "hand", "know", "look", "looking", "lot", "lots", "love", "mate", "moment", "nice"}
        | {"perhaps", "possible", "possibly", "quick", "quickly", "really", "request", "reply", "response", "soon"}
        | {"something", "task", "tasks", "team", "tell", "think", "thing", "thoughts", "time", "today", "tonight"}
        | {"week", "weekend", "well", "wonderful", "work", "yours", "truly", "warm", "warmly", "kindest", "faithfully"}
        | {"support", "guidance", "hear", "back", "forward", "hearing", "need", "needed", "below", "asap", "much"}
        | {"thought", "would", "awesome", "amazing", "super", "bye", "respectfully", "there", "sir", "madam", "all"}
        | {"problem", "issue", "guidance", "expert", "obliged", "gpt", "copilot", "bot", "ai", "buddy", "pal"}
    )
)
"""Words of which courtesy consists."""

_STARTS = frozenset(
    {"thank", "thanks", "thx", "ty", "cheers", "many", "much", "please", "pls", "plz", "let", "i", "best", "kind"}
    | {"ultrathink", "megathink"}
)
"""Words with which courtesy begins at the end of a clause."""

_OF_MANNER = _WORDS | manner.WORDS

_OPENERS = frozenset({"ok", "okay", "so", "hey"})

_MOST_CLAUSES = 8
_NAME_WORDS = 3


def without_frame(text: str) -> str:
    """Return a request without the frame at its beginning and at its end; all of it if it is nothing else."""
    start = _frame_length(_CLAUSE.findall(text[:_READ]))
    ending = text[start:][-_READ:]
    clauses = _CLAUSE.findall(ending)[::-1]
    stop = len(text) - _frame_length([clause for clause in clauses if clause], closing=True)
    request = _without_courtesy_words(text[start:stop].strip(" ,;\n"))
    return request if _WORD.search(request) else text


def _without_courtesy_words(request: str) -> str:
    """Return a request without "ok so" at its beginning, and thanks at its end that no sign divides from it."""
    words = list(_WORD.finditer(request))
    start = 0
    while start < len(words) - 1 and words[start][0].lower() in _OPENERS:
        start += 1
    first = words[start].start() if start else 0
    stop, position = len(request), len(words) - 1
    while position > start and words[position][0].lower() in _WORDS:
        if words[position][0].lower() in _STARTS and not _SIGNS.isdisjoint(_lower(words[position:])):
            stop = words[position].start()
        position -= 1
    return request[first:stop].strip(" ,;\n")


def _lower(words: Sequence[re.Match[str]]) -> set[str]:
    return {word[0].lower() for word in words}


def _frame_length(clauses: Sequence[str], *, closing: bool = False) -> int:
    """Return the characters of the clauses of a frame that come first."""
    length = total = 0
    for position, clause in enumerate(clauses[:_MOST_CLAUSES]):
        length += len(clause)
        words = [word.lower() for word in _WORD.findall(clause)]
        if not words:
            continue
        is_name = closing and position == 0 and len(words) <= _NAME_WORDS and _follows_closing(clauses)
        if not is_name and not _is_frame(words):
            break
        total = length
    return total


def _is_frame(words: Sequence[str]) -> bool:
    if words[0] in _GREETINGS and len(words) <= _NAME_WORDS:
        return True
    if not _SIGNS.isdisjoint(words) and _WORDS.issuperset(words):
        return True
    return manner.is_role(words) or (manner.tells_manner(words) and _OF_MANNER.issuperset(words))


def _follows_closing(clauses: Sequence[str]) -> bool:
    """Return whether the clause before the last one, which comes second here, is "Best regards," or such."""
    words = [word.lower() for clause in clauses[1:2] for word in _WORD.findall(clause)]
    return len(words) <= _NAME_WORDS and not _CLOSINGS.isdisjoint(words)
