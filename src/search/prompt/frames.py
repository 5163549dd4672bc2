"""What stands around a request and says nothing about the task.

Courtesy, manner, labels of a project, and that a skill is asked for.
"""

import re
from collections.abc import Sequence

from search.prompt.characters import without_courtesy
from search.prompt.frame_words import (
    AGENTS,
    ANNOUNCEMENT,
    ANNOUNCING,
    ANSWERS,
    CLOSINGS,
    COURTESY,
    COURTESY_ELSEWHERE,
    COURTESY_SIGNS,
    COURTESY_SIGNS_ELSEWHERE,
    CREATING,
    FORMATS,
    FORMATTING,
    GREETINGS,
    INTRODUCING,
    LIMITS,
    LINKS,
    LINKS_OF_NEW_SKILLS,
    MADE,
    MANNER,
    MANNER_SIGNS,
    OF_NEW_SKILLS,
    OF_SKILLS,
    OPENERS,
    PEOPLE,
    PLATFORMS,
    PURPOSES,
    REPLIES,
    ROLE_WORDS,
    ROLES,
    SAYING,
    SECTIONS,
    SEEKING,
    SEEKING_ELSEWHERE,
    SEEKING_SIGNS,
    SEEKING_SKILLS,
    SKILLS,
    STARTS,
    STARTS_ELSEWHERE,
)
from search.prompt.language import STOP_WORDS_ELSEWHERE, is_foreign
from search.stop_words import STOP_WORDS

_CLAUSE = re.compile(r"[^.!?:;,\n]*[.!?:;,\n]*")
_WORD = re.compile(r"[^\W\d_]+")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+([^\n]{1,60})\n", re.MULTILINE)
_COMMENT = re.compile(
    r"\A\s*(?:(?://|/\*|--|;|<!--)\s*(?:todo|fixme|hack|xxx|note)\b[^\w\n]{0,4}|#\s*(?:todo|fixme|hack|xxx|note):\s*)",
    re.IGNORECASE,
)
"""The mark of a comment with which a request begins: `// TODO`. After `#`, without a colon, it may be a heading."""

_FILE = re.compile(r"\A\s*[\w.@-]{1,60}(?:/[\w.@-]{1,60}){1,12}\.([A-Za-z]{1,5})(?::\d{1,6}){0,2}(?::|\s+[—–-])\s+")
"""A file below a folder that stands before a request, as in `src/app.tsx:12: …`, with its ending."""

_MENTIONED = re.compile(
    r"""(?<!\S)@(?:
    (?:[\w.-]{1,60}/){1,12}[\w-]{1,60}\.([A-Za-z]{1,5})
    | [\w-]{1,60}\.(css|csv|docx?|go|html|ipynb|java|json|mdx?|pdf|php|py|rb|rs|sql|toml|[jt]sx?|txt|ya?ml)
    )(?=\s|\Z)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A file that an agent is to read: `@src/app.tsx`. `@media.print` and `@ann.lee` are none."""

_ADDRESS = re.compile(r"https?://(?:www\.)?([\w.-]{1,80})(?::\d{1,5})?(/[^\s)>\]\"'`]{0,400})?", re.IGNORECASE)
_ENDING = re.compile(r"\.([a-z]{2,4})\Z")
_POINTER = re.compile(
    r" ?\((?:see|cf\.?|ref\.?|docs?|link|from|ticket|issue|file):? [^\s()]{0,300}[/.#-][^\s()]{0,300}\)", re.IGNORECASE
)
"""What says only where to read on: `(see docs/notes.md)`."""

_COMMIT = re.compile(r"\A(?:feat|feature|fix|bugfix|hotfix|chore|wip)(?:\(([\w ./-]{1,30})\))?!?:\s+", re.IGNORECASE)
"""The kind of a commit with which its subject begins, and its scope: `fix(auth): `."""

_NUMBER = re.compile(r"(?<=\s)\(?#\d{1,7}\)?(?=[\s.,;!?]|\Z)")
"""The number of an issue or a pull request: `(#123)`."""

_STORY = re.compile(r"\AAs an? [^\n,.]{2,40}, I (?:want|need|would like|wish)(?: to(?: be able to)?)? ", re.IGNORECASE)
_WISH = re.compile(
    r"""\A\s*(?:
    (?:(?:the|my|our|an?)\ ([a-z]{2,12})|they|he|she|someone|i|we)
    (?:'ve|\ have|\ has|\ was|\ were)?(?:\ just|\ been|\ now)*
    (?:\ (?:wants?|needs?|asked|asks|told|tells|would\ like)(?:\ (?:me|us|you))?(?:\ if\ (?:i|we)\ (?:can|could)|\ to)
    |\ (?:have|must|keep\ failing|failed)\ to
    |(?:'m|'re|\ am|\ are)\ (?:attempting|failing|hoping|planning|struggling|supposed|trying|unable)\ to)
    | (?:the|my|our|your)\ (?:aim|goal|idea|job|mission|objective|plan|task)(?:\ here|\ now|\ today)?\ is\ to
    )\ (?:be\ able\ to\ )?(?=\S)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Who wants the task that follows, such as the person in the group: `My boss told me to …`, `The goal is to …`."""

_DEADLINE = re.compile(
    r"""[\s,](?:by|before|until|till|(?:it's\ )?due|no\ later\ than)\ (?:
    (?:the\ )?(?:end\ of\ )?(?:the\ |this\ |next\ )(?:day|week|weekend|month|quarter|year)
    |(?:this\ |next\ |on\ )?(?:tomorrow|today|tonight|noon|midnight|eod
    |monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:\ (?:morning|afternoon|evening|night|noon))?
    | \d{1,2}(?::\d\d)?\ ?[ap]m)[\s.!]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""Until when the task must be done, at the end of a request: `by tomorrow morning`, `before the end of the week`."""

_STUCK = re.compile(
    r"""[\s,](?:and|but)\ (?:
    i(?:'m|\ am)\ (?:stuck|lost|confused|not\ sure\ (?:how|where))
    |(?:i\ have\ no\ (?:idea|clue)|(?:i|we)\ (?:don't|do\ not|can't|cannot)\ (?:know|figure\ out|see))
    (?:\ (?:how|where|it))?(?:\ to\ (?:begin|start|do\ it))?
    |nothing\ (?:works|helps))[\s.!?]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""What the end of a request says about its sender: `but I don't know where to start`."""

_ASIDE = re.compile(r"\s(?:\(([^()\n]{1,60})\)|(?:--?|[–—])\s([^()\n–—]{1,60}))[\s.!?]*\Z")
"""What stands in parentheses or after a dash at the end of a request."""

_ASIDE_READ = 70

_CALL = re.compile(r"\A\s*@([A-Za-z]{2,20})\b[,:]?\s+")
"""An agent that is called, as in a comment of a pull request: `@claude fix the tests`."""

_READ = 600
"""The characters at each end of a request that are read for courtesy."""

_COURTESIES = (
    (COURTESY, STARTS, COURTESY_SIGNS),
    (COURTESY_ELSEWHERE, STARTS_ELSEWHERE, COURTESY_SIGNS_ELSEWHERE),
)

_LEAST_WORDS = 2
"""The words beside an address from which it is not the request itself, without stop words."""

_LONGEST_DOMAIN_ENDING = 3
"""The letters of what stands before the ending of a domain and is no name: `co` of `co.uk`."""

_MOST_CLAUSES = 8
_MOST_STOP_WORDS = 6
_NAME_WORDS = 3
_SEEKING_WORDS = 16
"""The words of a request among which it asks for a skill."""

_KEPT = ("keep", "it")
"""The words with which an instruction about manner begins: `keep it simple`."""

_CREATION = "create a skill"
_SUBJECT_WORDS = 4
"""The most words before *skill* that say which one is meant."""


def without_frame(text: str) -> str:
    """Return a request without what stands around it; all of it if it is nothing else.

    That are headings of sections, a file or the mark of a comment at its beginning, and clauses of courtesy and manner
    at both ends. Of the file, the ending stays: it says in which language. `is there a skill to` is left out too.
    """
    unlabelled = _without_labels(text)
    if not text.isascii():
        unlabelled = without_courtesy(unlabelled)
    return _without_seeking(_without_clauses(unlabelled if _WORD.search(unlabelled) else text))


def _without_labels(text: str) -> str:
    if "#" in text:
        text = _HEADING.sub(lambda line: "" if _is_section(line[1]) else line[0], text)
    text = _CALL.sub(lambda call: "" if call[1].lower() in AGENTS else call[0], _COMMENT.sub("", text))
    text = _STORY.sub("", _COMMIT.sub(_scope, text))
    if "#" in text:
        text = _NUMBER.sub("", text)
    text = _FILE.sub(r"\1 ", text)
    if "@" in text:
        text = _MENTIONED.sub(r"\1\2", text)
    if "(" in text:
        text = _POINTER.sub("", text)
    return _without_addresses(text) if "://" in text else text


def _scope(commit: re.Match[str]) -> str:
    return f"{commit[1]} " if commit[1] else ""


def _without_addresses(text: str) -> str:
    """Return a request with the names of sites and the endings of files in place of addresses.

    `summarise https://www.youtube.com/watch?v=1` is about YouTube, and not about what the path of an address says. What
    is little more than an address stays.
    """
    rest = set(_words_in(_ADDRESS.sub(" ", text))) - STOP_WORDS
    return text if len(rest) < _LEAST_WORDS else _ADDRESS.sub(_site, text)


def _site(address: re.Match[str]) -> str:
    """Return the name of a site, such as `github` of `docs.github.com`, and the ending of a file."""
    labels = address[1].lower().split(".")[:-1]
    while len(labels) > 1 and len(labels[-1]) <= _LONGEST_DOMAIN_ENDING:  # `co` of `co.uk`
        labels.pop()
    ending = _ENDING.search(address[2] or "")
    return " ".join([*(label for label in labels[-1:] if label.isalpha()), *(ending.groups() if ending else ())])


def _is_section(heading: str) -> bool:
    words = _words_in(heading)
    return bool(words) and SECTIONS.issuperset(words)


def _without_clauses(text: str) -> str:
    """Return a request without the clauses of courtesy and manner at its ends; all of it if it is nothing else."""
    start = _frame_length(_CLAUSE.findall(text[:_READ]))
    ending = text[start:][-_READ:]
    clauses = _CLAUSE.findall(ending)[::-1]
    stop = len(text) - _frame_length([clause for clause in clauses if clause], closing=True)
    request = _without_courtesy_words(text[start:stop].strip(" ,;\n"))
    rest = _without_sender(_without_aside(request))
    if rest != request and not COURTESY.issuperset(_words_in(rest)):
        request = rest
    return request if _WORD.search(request) else text


def _without_aside(request: str) -> str:
    """Return a request without courtesy or manner in parentheses, or after a dash, at its end: `(urgent)`."""
    aside = _ASIDE.search(request, max(len(request) - _ASIDE_READ, 0))
    words = [] if aside is None else _words_in(aside[1] or aside[2])
    return request[: aside.start()] if aside is not None and words and _is_frame(words) else request


def _without_sender(request: str) -> str:
    """Return a request without who wants it, until when, and what its sender cannot do."""
    wish = _WISH.match(request)
    if wish is not None and (wish[1] is None or wish[1].lower() in PEOPLE):
        request = request[wish.end() :]
    ending = _DEADLINE.sub("", _STUCK.sub("", request[-_READ:]))
    return f"{request[:-_READ]}{ending}".rstrip(" ,;")


def _without_courtesy_words(request: str) -> str:
    """Return a request without "ok so" at its beginning, and thanks at its end that no sign divides from it."""
    words = list(_WORD.finditer(request))
    start = 0
    while start < len(words) - 1 and words[start][0].lower() in OPENERS:
        start += 1
    first = words[start].start() if start else 0
    stop = len(request)
    for courtesy, starts, signs in _COURTESIES:
        has_sign = False
        for word in reversed(words[start + 1 :]):
            lower = word[0].lower()
            if lower not in courtesy:
                break
            has_sign = has_sign or lower in signs
            if lower in starts and has_sign:
                stop = word.start()
    return request[first:stop].strip(" ,;¡\n")


def _without_seeking(request: str) -> str:
    """Return what a skill is asked for, without `is there a skill to` before it or `find a … skill` around it.

    Of `create a skill for …`, the skill is the task, and what it will be for is none.
    """
    beginning = request[:_READ]
    if "skill" not in beginning.lower():  # most requests: the look is cheap
        return request
    found = list(_WORD.finditer(beginning))
    words = [word[0].lower() for word in found]
    if _creates_skill(words):
        return _CREATION
    foreign = is_foreign(request)
    first = _length_of(words, SEEKING_ELSEWHERE if foreign else SEEKING)
    asks = foreign or not SEEKING_SIGNS.isdisjoint(words[:first])
    platform = _length_of(words[first:], PLATFORMS)
    first += platform if not SKILLS.isdisjoint(words[first + platform : first + platform + 1]) else 0
    if first < min(len(words), _SEEKING_WORDS) and words[first] in SKILLS:
        start = first + 1 + _length_of(words[first + 1 :], STOP_WORDS_ELSEWHERE if foreign else LINKS)
        is_linked = start > first + 1 and (asks or words[first + 1] in PURPOSES)
        task = request[found[start].start() :] if is_linked and start < len(found) else ""
    elif (
        asks
        and words[-1] in SKILLS
        and len(words) - first <= _SUBJECT_WORDS + 1
        and not request[found[-1].end() :].strip(".?! ")
    ):
        task = request[found[first].start() : found[-1].start()].strip()
    else:
        task = _without_platform(request, found)
    return request if SEEKING.issuperset(_words_in(task)) else task


def _without_platform(request: str, found: Sequence[re.Match[str]]) -> str:
    """Return a request without `claude skill` at its end, unless the task is to do something with such a skill."""
    *words, last = [word[0].lower() for word in found]
    platform = _length_of(words[::-1], PLATFORMS)
    named = words[: len(words) - platform]
    if last not in SKILLS or not platform or request[found[-1].end() :].strip(".?! "):
        return request
    if len(named) < _LEAST_WORDS or named[-1] in OF_NEW_SKILLS or not OF_SKILLS.isdisjoint(named):
        return request
    return request[: found[len(named)].start()]


def _creates_skill(words: Sequence[str]) -> bool:
    """Return whether a request begins with `create a skill`, at its end or before what it is for."""
    task = words[_length_of(words, COURTESY) :]
    made = task[1 + _length_of(task[1:], OF_NEW_SKILLS) :]
    if not made or task[0] not in CREATING or made[0] not in SKILLS:
        return False
    return len(made) == 1 or made[1] in LINKS_OF_NEW_SKILLS


def _length_of(words: Sequence[str], kind: frozenset[str]) -> int:
    """Return how many of the first words are of a kind."""
    return next((place for place, word in enumerate(words) if word not in kind), len(words))


def _words_in(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _frame_length(clauses: Sequence[str], *, closing: bool = False) -> int:
    """Return the characters of the clauses of a frame that come first."""
    length = total = 0
    for position, clause in enumerate(clauses[:_MOST_CLAUSES]):
        length += len(clause)
        words = _words_in(clause)
        if not words:
            continue
        is_name = closing and position == 0 and len(words) <= _NAME_WORDS and _follows_closing(clauses)
        if not is_name and not _is_frame(words) and not _introduces(clause):
            break
        total = length
    return total


def _is_frame(words: Sequence[str]) -> bool:
    if words[0] in GREETINGS and len(words) <= _NAME_WORDS:
        return True
    if any(not signs.isdisjoint(words) and courtesy.issuperset(words) for courtesy, _, signs in _COURTESIES):
        return True
    return (
        _is_role(words)
        or (_tells_manner(words) and MANNER.issuperset(words))
        or (_tells_format(words) and FORMATTING.issuperset(words))
        or (not SKILLS.isdisjoint(words) and SEEKING_SKILLS.issuperset(words))
    )


def _introduces(clause: str) -> bool:
    """Return whether a clause says only that a request follows, and who sends it: `A client asks:`, `The task:`."""
    words = _WORD.findall(clause)
    if not clause.rstrip(" \n\"'“„").endswith(":"):
        return False
    lower = [word.lower() for word in words]
    if len(words) > 1 and not ANNOUNCING.isdisjoint(lower) and ANNOUNCEMENT.issuperset(lower):
        return True
    senders = [word for word in words if word.lower() not in INTRODUCING]
    is_known = len(senders) <= _NAME_WORDS and all(word[0].isupper() for word in senders)
    return lower[0] in INTRODUCING and is_known and not SAYING.isdisjoint(lower)


def _is_role(words: Sequence[str]) -> bool:
    """Return whether a clause says what the assistant is, and nothing about the task."""
    return tuple(words[:2]) in ROLES and ROLE_WORDS.issuperset(words)


def _tells_manner(words: Sequence[str]) -> bool:
    """Return whether one of the words of a clause makes it an instruction about manner, if all are of that kind.

    A few stop words, as in `just do it`, are one too. A single letter may be the rest of `S3`.
    """
    if 1 < len(words) <= _MOST_STOP_WORDS and STOP_WORDS.issuperset(words):
        return True
    if "make" in words:
        return not MADE.isdisjoint(words)
    if tuple(words[:2]) == _KEPT:
        return True
    return not MANNER_SIGNS.isdisjoint(words) or not (ANSWERS.isdisjoint(words) or LIMITS.isdisjoint(words))


def _tells_format(words: Sequence[str]) -> bool:
    """Return whether a clause says in which format or language the answer is to be: `Reply in French`."""
    return not (REPLIES.isdisjoint(words) or FORMATS.isdisjoint(words))


def _follows_closing(clauses: Sequence[str]) -> bool:
    """Return whether the clause before the last one, which comes second here, is "Best regards," or such."""
    words = _words_in("".join(clauses[1:2]))
    return len(words) <= _NAME_WORDS and not CLOSINGS.isdisjoint(words)
