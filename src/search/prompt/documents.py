"""The request in a prompt that also holds a pasted document: prose that tells about something and asks for nothing.

Each paragraph is told by how it is written: a request is short, begins with a verb or a question, speaks of *me*, *my*
or *our*, or is no whole sentence. A document has longer sentences in the third person. A long task is written as
requests are, all through, so nothing of it is left out.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_DOCUMENT_WORDS = 150
"""The words from which paragraphs are a document. Less is the background of a request."""

_DOCUMENT_SHARE = 0.7
"""The share of all words that a document has at least. Of a long task, less is background."""

_SHORTEST_REQUEST, _LONGEST_REQUEST = 3, 120
"""The words of a paragraph that may be the request beside a document."""

_AT_END = 1.0
"""What the first and the last paragraph have more of the likeness: people write there."""

_LONGEST_HEADING, _TITLE_SHARE = 8, 0.6
"""The words of a heading, and the share of them that begin with a capital."""

_AS_LIKELY = 0.5
"""The share of the greatest likeness from which other paragraphs are of the request too."""

_COMMANDS_SHARE = 0.1
"""The share of sentences that are commands from which paragraphs are part of a task. READMEs have fewer, nearly all."""

_READ_WORDS, _READ_CHARACTERS = 80, 1000
"""The words of a paragraph that are read: how it is written shows in them."""

_BETWEEN = re.compile(r"\n[ \t]*\n\s*|(?<=[.!?:])\n\s*")
_LAYOUT = re.compile(r"\s*(?:[#>|*•+-]+\s|\[|!\[|\d{1,2}[.)]\s|<)")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?")

_COMMANDS = frozenset(
    """
    add analyse analyze answer apply arrange ask audit automate backup build calculate call change check choose clean
    clone close collect combine compare compile compress compute configure connect convert copy count create crop cut
    debug decide delete deploy describe detect diagnose download draft draw edit email enable encrypt estimate evaluate
    explain export extract fetch fill filter find fix format gather generate get give grade handle help identify
    implement import improve insert inspect install integrate investigate judge keep launch load look make measure merge
    migrate mock monitor move open optimise optimize organise organize pack parse pick play plot predict prepare print
    profile propose publish pull push put read recommend refactor remind remove rename render replace reply reset resize
    resolve restore restructure review rewrite rotate run save scaffold scan scrape search secure send set setup shorten
    simplify simulate sketch solve speed split start stop store suggest summarise summarize sync take teach tell train
    transcribe transform translate trim tune turn unzip update upgrade upload use validate verify visualise visualize
    write
    """.split()  # noqa: SIM905 - one word per line would take pages
)
"""Verbs with which requests begin. Sentences of documents hardly do."""

_OPENERS = _COMMANDS | frozenset(
    """
    are book can could design do does file group guide hello hey hi host how is let list log map message need order plan
    please post process query rank record report research schedule score should show sort test track using want watch
    what when where which who why work would
    """.split()  # noqa: SIM905 - as above
)
"""All words with which requests begin."""

_PERSONS = frozenset({"i", "i'm", "i've", "i'd", "me", "my", "mine", "we", "we're", "us", "our", "please"})
"""Words by which people speak of themselves."""

_TELLING = frozenset({"a", "an", "the", "this", "these", "it", "in", "its", "they", "there", "he", "she", "as", "for"})
"""Words with which sentences begin that tell about something."""

_STATES = frozenset({"is", "are", "was", "were", "has", "had", "been", "be", "will", "which", "such", "may", "its"})
"""Words of sentences that tell how things are."""


_WEIGHTS = (-1.97, 4.15, 0.76, -0.35, 2.88, 3.06, 0.82, 2.10, -0.76, 3.91, -0.26, -1.15)
"""The weights of `_features`: fitted on requests of the training part, READMEs, licences and bodies of skills."""


class Document(NamedTuple):
    """The parts of a prompt: what is a request in it, and the paragraphs of a document."""

    request: str
    document: str


def without_document(text: str) -> Document | None:
    """Return the parts of a prompt; None if it holds no document, or no request beside it."""
    words = len(text.split())
    if words < _DOCUMENT_WORDS:  # nearly all prompts
        return None
    paragraphs = _paragraphs(text)
    likeness = np.array([_likeness(part) if _may_ask(part) else -np.inf for part in paragraphs])
    likeness[[0, -1]] += _AT_END
    if likeness.max() <= 0:
        return None
    asks = (likeness >= _AS_LIKELY * likeness.max()).tolist()
    request = [part for part, does in zip(paragraphs, asks, strict=True) if does]
    document = [part for part, does in zip(paragraphs, asks, strict=True) if not does]
    size = sum(len(part.split()) for part in document)
    if size < max(_DOCUMENT_WORDS, _DOCUMENT_SHARE * words) or _commands_share(document) >= _COMMANDS_SHARE:
        return None
    return Document("\n".join(request), "\n".join(document))


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a prompt. Its first line is one unless the next goes on with its sentence."""
    first, newline, rest = text.strip().partition("\n")
    if newline and not rest[:1].islower():
        return [first, *(part for part in _BETWEEN.split(rest) if part.strip())]
    return [part for part in _BETWEEN.split(text) if part.strip()]


def _may_ask(paragraph: str) -> bool:
    """Return whether a paragraph may be a request: no heading, item of a list or quotation, and not too long."""
    if not _SHORTEST_REQUEST <= len(paragraph.split()) <= _LONGEST_REQUEST or _LAYOUT.match(paragraph):
        return False
    words = [word for word in paragraph.split(None, _LONGEST_HEADING)[: _LONGEST_HEADING + 1] if word[:1].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(words) > _LONGEST_HEADING or capitals < _TITLE_SHARE * len(words)


def _commands_share(paragraphs: Sequence[str]) -> float:
    """Return the share of the sentences that begin with a command."""
    first = [word for part in paragraphs for word in _first_words(part.strip())]
    return sum(word.lower() in _COMMANDS and not word.islower() for word in first) / max(1, len(first))


def _first_words(text: str) -> list[str]:
    """Return the word at the beginning of each sentence, an empty text where there is none."""
    beginnings = map(_WORD.match, _SENTENCE_END.split(text))
    return [match[0] if match else "" for match in beginnings]


def _likeness(paragraph: str) -> float:
    """Return how much a paragraph is written as a request is, above 0 for a request, by a logistic function."""
    return sum(weight * value for weight, value in zip(_WEIGHTS, _features(paragraph), strict=True))


def _features(paragraph: str) -> tuple[float, ...]:
    """Return what tells a request from a document: its length, its ends, its first words and its persons."""
    start = paragraph.strip()
    words = [
        word.lower().replace("’", "'") for word in _WORD.findall(" ".join(start.split(None, _READ_WORDS)[:_READ_WORDS]))
    ]
    count, first = len(paragraph.split()), words[0] if words else ""
    beginnings = _first_words(start[:_READ_CHARACTERS])
    share = max(1, len(words))
    return (
        1.0,
        float(count < 10),
        float(count < 20),
        float(count < 40),
        float(start[:1].islower()),
        float(start[-1:].isalnum()),
        float("?" in start),
        float(min(sum(word.lower() in _OPENERS for word in beginnings), 2)),
        float(first in _TELLING),
        float(not _PERSONS.isdisjoint(words)),
        min(20 * sum(map(_STATES.__contains__, words)) / share, 4.0),
        float(min(len(beginnings), 5)),
    )
