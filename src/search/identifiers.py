"""Identifiers: names of code that consist of parts, such as `--set-env-vars`, `ERR_MODULE_NOT_FOUND` or `lib/run.py`.

The keyword index has their parts as words. A skill whose text has the same common words outranks the only one that has
the identifier, so the index has identifiers as a whole too.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from search.scripts import composed, without_undivided
from search.stop_words import STOP_WORDS

MARK = "="
"""The first character of a term that is an identifier. No word of a text begins with it."""

MAX_IDENTIFIERS = 1_000
"""How many different identifiers of a document are indexed: of real skills, 1 in 1,000 has more."""

SCANNED_CHARACTERS = 200_000
"""How much of a text is looked through. One real skill in 4,000 has more."""

_WEIGHT = 3.0
_CODE_WEIGHT = 2.0
_COMPOUND_WEIGHT = 1.0

_SHORTEST, _LONGEST = 3, 80
_LONGEST_TOKEN = 300
_PATH_ENDS = 3

_TOKEN = re.compile(r"(?:\w|(?<![\w-])--(?=[^\W\d_])|(?<![\w.])\.(?=[^\W\d_]))\w*(?:(?:::|[-./\\])\w+)*")
_SEPARATORS = "()[]{}<>\"'`*|,;!?"
"""Characters of ASCII that are in no token and have no meaning beside one."""

_JOINED = re.compile(r"^--|[./:\\]")
"""What a token has that consists of parts."""

_PART_JOINT = re.compile(r"\.|::")
_COMPOUND_JOINT = re.compile("[-/]")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-/][^\W\d_]+)+")
_PATH_OF_WORDS = re.compile(
    r"(?!(?:assets|references|scripts)/)\.?[^\W\d_]+(?:[-./][^\W\d_]+)*/[^\W\d_]+(?:[-./][^\W\d_]+)*"
)
"""A path of plain words, as any project has them. Those in the folders of a skill (agentskills.io) are none."""

_FILE_OF_WORD = re.compile(
    r"[^\W\d_]+\.(?:cjs|cpp|cs|css|csv|docx?|go|html?|ini|java|jpe?g|jsx?|json|kt|lock|log|md|mjs|pdf|php|png|pptx?|py|rb|rs"
    r"|scss|sh|sql|svg|swift|toml|tsx?|txt|vue|xlsx?|xml|ya?ml)"
)
"""The name of a file that is a plain word."""

_KEY = re.compile(r"[a-z]{2,10}-[0-9]{1,6}")
"""The key of a ticket, or a version such as `gpt-4`."""

_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|.[-_./\\:]\w|^_|^\.")
"""A first look at a token: it is no plain word."""

_COMPOUND_OF_PARTS = re.compile(r"\w[-./:]+\w|_|^[-.]")
_CAMEL_CASE = re.compile(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+|(?:[A-Z]+[a-z0-9]+){3,}")
_ERROR_CODE = re.compile(r"[A-Za-z]{1,6}[0-9]{3,6}")
_DOMAIN = re.compile(r"(?:[\w-]+\.)+(?:ai|app|biz|cloud|co|com|dev|edu|gov|info|io|me|net|org)(?:/.*)?", re.IGNORECASE)
"""A domain or the address of a page: a value. `.net` and `asp.net` are words of their own."""


def identifiers(text: str) -> Iterator[str]:
    """Yield the identifiers of a text in lower case, as they first come: a whole, then its parts that are identifiers.

    A path also yields its last two and three parts. The same token yields once. Tokens of more than 300 characters are
    skipped, and identifiers of less than 3 or more than 80. The time is linear in the text.
    """
    words = _unusual_words(composed(text[:SCANNED_CHARACTERS]))
    for token in dict.fromkeys(_TOKEN.findall(without_undivided(" ".join(words)))):
        yield from _identifiers_in(token)


def _unusual_words(text: str) -> list[str]:
    """Return the different words of a text between blanks, but for plain ones, which most are: the look is cheap."""
    for separator in _SEPARATORS:
        text = text.replace(separator, " ")
    return [
        word
        for word in dict.fromkeys(text.split())
        if not (word.islower() and word.isalpha())
        and not ((bare := word.rstrip(".:")).isalpha() and (bare.islower() or bare.istitle() or bare.isupper()))
    ]


def _identifiers_in(token: str) -> list[str]:
    if token.isalpha() and (token.islower() or token.istitle()):
        return []
    if len(token) > _LONGEST_TOKEN or not _CODE.search(token):
        return []
    if not _JOINED.search(token):
        wholes: Iterable[str] = (token,)
    else:
        wholes = dict.fromkeys(_wholes(token.replace("\\", "/")))
    return [whole.casefold() for whole in wholes if _is_identifier(whole)]


def first_identifiers(texts: Iterable[str], limit: int = MAX_IDENTIFIERS) -> dict[str, None]:
    """Return the first different identifiers of texts, in order."""
    first: dict[str, None] = {}
    each = (identifier for text in texts for identifier in identifiers(text))
    for identifier in islice(each, 20 * limit):
        first[identifier] = None
        if len(first) == limit:
            break
    return first


def identifier_weight(identifier: str) -> float:
    """Return what an identifier of one document weighs, in words that are as rare.

    Compounds of prose such as `event-driven`, and words with digits such as `ABC123`, say less: both are also values.
    So are files with plain names such as `src/index.ts`, and keys of tickets: a prompt names those of its own project.
    """
    if _COMPOUND.fullmatch(identifier):
        words = _COMPOUND_JOINT.split(identifier)
        if "/" in identifier or len(words) == 2 or not STOP_WORDS.isdisjoint(words):
            return _COMPOUND_WEIGHT
    if _PATH_OF_WORDS.fullmatch(identifier) or _KEY.fullmatch(identifier):
        return _COMPOUND_WEIGHT
    return _CODE_WEIGHT if _ERROR_CODE.fullmatch(identifier) or _FILE_OF_WORD.fullmatch(identifier) else _WEIGHT


def _wholes(token: str) -> Iterator[str]:
    """Yield the forms of a token that a user may search for."""
    yield token
    if token.startswith("--"):
        yield token[2:]
        return
    segments = token.split("/")
    for count in range(min(_PATH_ENDS, len(segments) - 1), 0, -1):
        yield "/".join(segments[-count:])
    for segment in segments:
        parts = _PART_JOINT.split(segment)
        yield segment
        if len(parts) > 1:
            yield from parts


def _is_identifier(token: str) -> bool:
    """Return whether a token is the name of code. Names such as `PayPal`, `EC2`, `IDs` and `mp3` are words."""
    if not _SHORTEST <= len(token) <= _LONGEST or not (token[0].isalpha() or _LETTER.search(token)):
        return False
    if "." in token and _DOMAIN.fullmatch(token):
        return False
    return bool(_COMPOUND_OF_PARTS.search(token) or _CAMEL_CASE.fullmatch(token) or _ERROR_CODE.fullmatch(token))
