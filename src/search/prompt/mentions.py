"""Skills that a prompt names: `/pdf-tools …`, `use the pdf tools skill to …`, `in my pdf-tools`, `--skill pdf`.

A prompt may also be a name alone, as people write it for agents: `/pdf`, `$pdf`, `pdf?`, `pdf@1.0.0`, `use the pdf
skill`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from search.prompt.frame_words import AGENTS, PLATFORMS, PURPOSES
from search.scripts import composed
from search.stop_words import STOP_WORDS
from search.text import fold

_READ_WORDS = 600
"""The words of a prompt that are read for names: as many at its beginning as at its end."""

_MOST_PARTS = 6
"""The words that a name may have when it is written with blanks."""

_QUOTES = "\"'`´‘’‚‛“”„‟‹›«»"
_STOPS = ".,;:!?)"
_ENDS = f"{_QUOTES}.,;:!?()[]*"
_SIGNS = ("/", "@", "$", "#")

_CUES = frozenset(
    {"use", "using", "with", "via", "run", "running", "invoke", "load", "through", "apply", "applying", "follow"}
    | {"following", "open", "install", "try"}
)
_CALLERS = _CUES | frozenset({"and", "then", "please", "call", "execute"})
"""Words after which `/name` is the name of a skill. After others, it may be a route, a folder or a channel."""

_RELATIONS = frozenset(
    {"compare", "comparing", "combine", "combining", "connect", "connecting", "integrate", "integrating", "link"}
    | {"linking", "match", "merge", "migrate", "pair", "replace", "replacing", "share", "swap", "sync", "syncing"}
    | {"synchronize", "use", "using"}
)
"""Verbs after which `with` begins their other side, and no tool: `connect Grafana with Prometheus`."""

_REACH = 8
"""The words before `with` that are read for such a verb, up to one that begins something else."""

_BREAKS = ".!?:,;("
_TURNS = frozenset({"to", "then", "so", "that", "which"})
_DETERMINERS = frozenset({"the", "my", "our", "your", "this", "that"})
_INDEFINITE = frozenset({"a", "an", "any", "another", "new", "some", "no", "which", "what"})
_CALLED = frozenset({"called", "named"})
_SEPARATORS = frozenset("-_/")
_SKILL = "skill"
_OPTION = "--skill"

_MAX_CHARACTERS = 160  # longer queries are no name with decoration: a name has at most 100
_BEFORE = f"{_QUOTES}/$@# "
_AFTER = f"{_QUOTES}/?!.,: "
_SKILL_FILE = "/skill.md"
_VERSION = re.compile(r"[v^~=]?\d[^\s@/]*|latest")
_OPENINGS = (frozenset({"use", "run", "install", "invoke", "load"}), frozenset({"the"}))


class Mention(NamedTuple):
    """A folded name that a prompt may mention. `is_marked` is true if its form says that it is the name of a skill.

    `is_joined` is true if it is written as one word of several parts.
    """

    name: str
    is_marked: bool
    is_joined: bool

    @property
    def is_written_as_name(self) -> bool:
        """Whether its form alone says that it is a name: `"pdf"`, `pdf-tools`."""
        return self.is_marked or (self.is_joined and " " in self.name)


def mentioned_names(text: str) -> Iterator[Mention]:
    """Yield the names that a prompt may mention, at each place the longest first."""
    read = _words_of(composed(text))
    written = [word for word, _ in read]
    words = [word.strip(_ENDS).lower() for word in written]
    for position, word in enumerate(words):
        if word.startswith(_SIGNS) and not (word[0] == "@" and word[1:] in AGENTS):
            begins = read[position][1] or written[position - 1][-1] in _BREAKS
            yield from _signed(words, position, calls=begins or words[position - 1] in _CALLERS)
        if word == _SKILL:
            yield from _before(written, words, position)
            yield from _after(words, position)
        if word == _OPTION:
            yield _joined(words[position + 1 : position + 2], is_marked=True)
        elif word.startswith(f"{_OPTION}="):
            yield _joined([word.partition("=")[2]], is_marked=True)
        is_cue = word in _CUES or (word == "in" and words[position + 1 : position + 2] in (["my"], ["our"]))
        if is_cue:
            named = _cued(written, words, position + 1)
            is_side = word == "with" and _is_other_side(written, words, position)
            yield from (each for each in named if each.is_written_as_name) if is_side else named
        elif position == 0 and _SEPARATORS.intersection(word):
            yield _joined(words[:1], is_marked=False)


def _is_other_side(written: Sequence[str], words: Sequence[str], position: int) -> bool:
    """Return whether what a `with` begins is the other side of a relation, as in `replace Redis with Postgres`."""
    for place in range(position - 1, max(position - 1 - _REACH, -1), -1):
        if words[place] in _TURNS or written[place][-1] in _BREAKS:
            return False
        if words[place] in _RELATIONS:
            return True
    return False


def _words_of(text: str) -> list[tuple[str, bool]]:
    """Return the words of a text that are read, and whether a line begins with each."""
    words = [(word, position == 0) for line in text.split("\n") for position, word in enumerate(line.split())]
    return words if len(words) <= _READ_WORDS else words[: _READ_WORDS // 2] + words[-_READ_WORDS // 2 :]


def _signed(words: Sequence[str], position: int, *, calls: bool) -> Iterator[Mention]:
    """Yield the name in `/name`, `/name in words`, `@scope/name` and `/plugin:name`.

    Where a sign calls nothing, as in `the /search endpoint`, a common word is no name. `#` begins headings, topics and
    comments, and a sign alone is a heading or a prompt of a shell.
    """
    sign, first = words[position][0], words[position].lstrip("".join(_SIGNS))
    if not first:
        return
    is_marked = calls and sign != "#"
    for count in range(min(_MOST_PARTS, len(words) - position), 0, -1):
        yield _joined([first, *words[position + 1 : position + count]], is_marked=is_marked)
    if ":" in first:
        yield _joined([first.rpartition(":")[2]], is_marked=True)


def _before(written: Sequence[str], words: Sequence[str], position: int) -> Iterator[Mention]:
    """Yield what may be the name in `the … skill`. `create a … skill` and `Codex skill for …` name none."""
    if PLATFORMS.issuperset(words[:position]) and not PURPOSES.isdisjoint(words[position + 1 : position + 2]):
        return
    for start in range(max(0, position - _MOST_PARTS), position):
        before = words[start - 1] if start else ""
        begins = start == 0 or written[start - 1][-1] in _BREAKS or written[start][0] in _QUOTES
        if before not in _INDEFINITE and (begins or before in _CUES or before in _DETERMINERS):
            yield _joined(words[start:position], is_marked=True)
    if position and words[position - 1] and (position < 2 or words[position - 2] not in _INDEFINITE):
        yield _joined(words[position - 1 : position], is_marked=False)


def _after(words: Sequence[str], position: int) -> Iterator[Mention]:
    """Yield what may be the name in `the skill …`, `skill called …`."""
    before = words[position - 1] if position else ""
    start = position + 1 + (words[position + 1 : position + 2] != [] and words[position + 1] in _CALLED)
    is_marked = before not in _INDEFINITE and (start > position + 1 or before in _DETERMINERS | _CUES)
    for count in range(_MOST_PARTS, 0, -1):
        if start + count <= len(words):
            yield _joined(words[start : start + count], is_marked=is_marked)


def _cued(written: Sequence[str], words: Sequence[str], position: int) -> Iterator[Mention]:
    """Yield what may be the name in `use …`, `with the …`, `in my …`, unless a noun follows it."""
    start = position + (words[position : position + 1] != [] and words[position] in _DETERMINERS)
    if start >= len(words):
        return
    is_quoted = written[start][0] in _QUOTES
    for end in range(min(start + _MOST_PARTS, len(words)), start, -1):
        last = written[end - 1]
        closes = is_quoted and last.rstrip(".,;:!?")[-1:] in _QUOTES
        if closes or last[-1] in _STOPS or end == len(words) or words[end] in STOP_WORDS:
            yield _joined(words[start:end], is_marked=closes)


def _joined(words: Sequence[str], *, is_marked: bool) -> Mention:
    return Mention(fold(" ".join(words)), is_marked, is_joined=len(words) == 1)


def undecorated_names(query: str) -> Iterator[str]:
    """Yield the folded names that a query may mean without its decoration, longest first.

    Quotes, `/ $ @ #` before the name, `? ! . , :` and `/` after it, a version and `/SKILL.md` are left out. So are the
    words around it in `use the … skill`: without the word "skill", only around one word of several parts, because
    `run test` is not the name of a skill "test" as `run pre-commit` is that of "pre-commit".
    """
    if len(query) > _MAX_CHARACTERS:
        return
    text = " ".join(composed(query).casefold().split())
    names = (fold(_undecorated(text)), *_framed_names(_undecorated(text)))
    yield from filter(None, dict.fromkeys(names))


def _undecorated(text: str) -> str:
    """Return a name without signs around it, without its version and without the file of the skill."""
    name = text.lstrip(_BEFORE).rstrip(_AFTER).removesuffix(_SKILL_FILE)
    before, _, version = name.rpartition("@")
    return before if before and _VERSION.fullmatch(version) else name


def _framed_names(text: str) -> Iterator[str]:
    """Yield the folded names within `use the … skill`, `use the skill …` and parts of these."""
    words = text.split()
    candidates = []
    for opening in _OPENINGS:
        if words and words[0] in opening:
            words = words[1:]
            candidates.append(words)
    says_skill = words[-1:] == [_SKILL] or (bool(candidates) and words[:1] == [_SKILL])
    if says_skill:
        candidates.append(words[:-1] if words[-1] == _SKILL else words[1:])
    for candidate in candidates:
        name = fold(_undecorated(" ".join(candidate)))
        if says_skill or (len(candidate) == 1 and _has_parts(name)):
            yield name


def _has_parts(folded: str) -> bool:
    """Return whether a folded name has a scope, or several words."""
    return " " in folded or "/" in folded
