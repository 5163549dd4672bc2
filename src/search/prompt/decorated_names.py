"""Names as people write them for agents: `/pdf`, `$pdf`, `"pdf"`, `pdf?`, `pdf@1.0.0`, `use the pdf skill`."""

import re
from collections.abc import Iterator

from search.scripts import composed
from search.text import fold

_MAX_CHARACTERS = 160  # longer queries are no name with decoration: a name has at most 100
_QUOTES = "\"'`´‘’‚‛“”„‟‹›«»"
_BEFORE = f"{_QUOTES}/$@# "
_AFTER = f"{_QUOTES}/?!.,: "
_SKILL_FILE = "/skill.md"
_VERSION = re.compile(r"[v^~=]?\d[^\s@/]*|latest")
_SKILL = "skill"
_OPENINGS = (frozenset({"use", "run", "install", "invoke", "load"}), frozenset({"the"}))


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
