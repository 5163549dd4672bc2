"""What stands before a request in a project and names no subject: a heading, the mark of a comment, a file."""

import re

_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+([^\n]{1,60})\n", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]+")
_SECTIONS = frozenset(
    """
    acceptance actual additional background behavior behaviour bug chore context criteria current definition deliverable
    deliverables description details done environment epic expected feature goal goals goal info information input
    instruction instructions issue issues motivation my note notes objective of open output overview priority problem
    proposed question questions reproduce request requests requirement requirements scope solution spike status steps
    story subtask summary task tasks the this ticket to todo todos type user what why you your
    """.split()  # noqa: SIM905 - one word per line would take a page
)
"""Words of headings that every ticket has."""

_COMMENT = re.compile(r"\A\s*(?://|/\*|#|--|;|<!--)\s*(?:todo|fixme|hack|xxx|note)\b[^\w\n]{0,4}", re.IGNORECASE)
_FILE = re.compile(r"\A\s*[\w.@-]{1,60}(?:/[\w.@-]{1,60}){1,12}\.([A-Za-z]{1,5})(?::\d{1,6}){0,2}(?::|\s+[—–-])\s+")


def without_labels(text: str) -> str:
    """Return a request without headings of sections, and without a file or the mark of a comment at its beginning.

    Of the file, the ending stays: it says in which language.
    """
    if "#" in text:
        text = _HEADING.sub(lambda line: "" if _is_section(line[1]) else line[0], text)
    text = _COMMENT.sub("", text)
    return _FILE.sub(lambda place: f"{place[1]} ", text)


def _is_section(heading: str) -> bool:
    words = _WORD.findall(heading.lower())
    return bool(words) and _SECTIONS.issuperset(words)
