"""What a request is wrapped in: tags such as `<user_query>`, the fields of a ticket or a mail, a signature.

Agents, forms and mail programs write them, and they are no words of the request.
"""

import re
from typing import NamedTuple

import msgspec

_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w-]{0,39})>\s*", re.MULTILINE)
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|\Z)")

_READ = 20_000
"""The characters at the beginning of a prompt in which tags and fields are looked for."""

_MOST_TAGS = 8
_FEWEST_WORDS = 3

_FIELD = re.compile(
    r"""(?:^[ \t]*(?:[-*•][ ])?[*_]{0,3}[ \t]?|(?<=[.!?;][ ]))
    ([A-Za-z][A-Za-z-]{0,20}(?:[ ][A-Za-z-]{1,20}){0,2})
    [*_]{0,3}(?::[*_]{0,3}(?=\s|\Z)|[ ][-–—](?=[ ]))[ \t]*
    | ^[ \t]*\#{1,6}[ \t]+[*_]{0,3}([A-Za-z][A-Za-z-]{0,20}(?:[ ][A-Za-z-]{1,20}){0,2})[*_]{0,3}:?[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
"""A label at the beginning of a line or of a sentence, or a heading: `Title: `, `**Goal:** `, `## Context`."""

_LETTER = re.compile(r"[^\W\d_]")
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n(?![ \t]*\n)[^\n]*)*")
_SIGNATURE = re.compile(
    r"""(?:(?<=[.!?])|\n)\n
    (?:--[ ]?|[^\n,]{0,12}(?:regards|sincerely|yours),?|(?:many[ ])?(?:thanks|cheers),)
    \n(?:[^\n]{0,60}\n){0,5}[^\n]{0,60}\Z
    | \nSent[ ]from[ ]my[ ][^\n]{1,40}\n?\Z
    | \n\nP\.?[ ]?S\.?:?[ ][^\n]{1,200}\n?\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED = re.compile(r"^(?:On|Am|Le) [^\n]{5,100}(?:wrote|schrieb|a écrit) ?:[ \t]*$", re.MULTILINE)
_ATTACHED = re.compile(
    r"""\[(?:image|pasted|screenshot|attach|file\b)[^\]\n]{0,80}\]
    | \[[\w-][\w \t-]{0,60}\.(?:gif|heic|jpe?g|mov|mp4|png|webp)\]""",
    re.VERBOSE | re.IGNORECASE,
)
"""What agents and mail programs write for a paste or an image: `[Pasted text #1 +20 lines]`, `[screenshot.png]`."""

_TASKS = frozenset(
    """
    ask bug description feature goal human instruction instructions issue objective problem prompt q query question
    request story subject subtask summary task title todo user what
    """.split()  # noqa: SIM905 - one word per line would take a page
) | {
    "feature request", "my goal", "my question", "my task", "new task", "next", "next step", "next task", "the goal",
    "the task", "user query", "user request", "user story", "your goal", "your task",
}  # fmt: skip
"""Labels of what is requested."""

_BACKGROUND = frozenset(
    """
    a actual assistant assumptions audience background benefit benefits constraint constraints context environment
    expected impact motivation note notes rationale reference references response system tone why
    """.split()  # noqa: SIM905 - as above
) | {
    "acceptance criteria", "actual behavior", "actual behaviour", "additional context", "additional info",
    "additional information", "definition of done", "expected behavior", "expected behaviour", "output format",
    "steps to reproduce",
}  # fmt: skip
"""Labels of what is said beside the request."""

_DETAILS = frozenset(
    """
    assignee assigned attached attachment attachments author branch commit component components created date deadline
    due epic estimate id label labels link links milestone owner points priority repo reporter repository requester
    severity sprint status tags ticket type updated url
    """.split()  # noqa: SIM905 - as above
) | {
    "assigned to", "created by", "due date", "epic link", "fix version", "needed by", "reported by", "requested by",
    "story points",
}  # fmt: skip
"""Labels of what every ticket or commit has."""

_MAIL = frozenset({"bcc", "cc", "from", "reply-to", "sent", "to"})
_SUBJECT = "subject"
"""Labels of a mail, which it has beside a subject."""


_OTHERS: frozenset[str] = frozenset()
"""Labels that say something about the task."""


_MEMBERS = (
    "query", "question", "prompt", "task", "request", "instruction", "input", "message", "text", "content", "arguments",
    "params", "body", "data", "messages", "contents", "parts",
)  # fmt: skip
"""The members of a JSON text that may hold the request, first those that say so themselves."""

_DEEPEST_MEMBER = 6


class Fields(NamedTuple):
    """A request without its fields, and what was left out: its background, which says little about the task."""

    request: str
    background: str


def without_wrappers(text: str) -> str:
    """Return a prompt without the tags that stand around sentences, from the beginning of a line to the end of one.

    What has tags within it, or hardly any words, is markup that the request is about, and stays.
    """
    parts, start, position = [], 0, 0
    for _ in range(_MOST_TAGS):
        opening = _OPENING.search(text, position, _READ)
        if opening is None:
            break
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        position = opening.end() if end < 0 else end + len(closing)
        inner = text[opening.end() : max(end, 0)]
        if _ENDS_LINE.match(text, position) and len(inner.split()) >= _FEWEST_WORDS and not inner.startswith("<"):
            parts += [text[start : opening.start()], inner.rstrip()]
            start = position
    return "".join((*parts, text[start:]))


def without_json(text: str) -> str:
    """Return the request within a JSON text, such as the body of a call or a conversation, of which it is the last.

    A text that is no JSON, or whose members say nothing of a request, is returned as it is.
    """
    try:
        value = msgspec.json.decode(text) if len(text) <= _READ else None
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):  # a lone surrogate cannot be encoded
        return text
    return _request_in(value, _DEEPEST_MEMBER) or text


def _request_in(value: object, depth: int) -> str:
    """Return the sentence that a JSON value holds as its request, "" if it holds none."""
    if isinstance(value, str):
        return value if depth < _DEEPEST_MEMBER and len(value.split()) >= _FEWEST_WORDS else ""
    if depth == 0:
        return ""
    if isinstance(value, list):
        sent = [each for each in value if not isinstance(each, dict) or each.get("role", "user") == "user"]
        return next(filter(None, (_request_in(each, depth - 1) for each in reversed(sent))), "")
    if isinstance(value, dict):
        return next(filter(None, (_request_in(value.get(name), depth - 1) for name in _MEMBERS)), "")
    return ""


def without_fields(text: str) -> Fields:
    """Return a request without details such as `Priority: high`, and what is requested without its label.

    Signatures and marks of what is attached go too. So does the background where something is labelled as the request:
    a field, or what is before all fields. It ends with its paragraph, or with the next heading. Fields with other
    labels stay whole: `Language: Rust` says something about the task. What is nothing else is returned as it is. The
    time is linear in the text.
    """
    unsigned = _QUOTED.sub("", _SIGNATURE.sub("", text)) if "\n" in text else text
    unsigned = _ATTACHED.sub("", unsigned) if "[" in text else unsigned
    if len(unsigned.split()) < min(_FEWEST_WORDS, len(text.split())):
        unsigned = text
    fields = [(label, kind) for label in _FIELD.finditer(unsigned, 0, _READ) if (kind := _kind_of(label)) is not None]
    if all(kind is _OTHERS for _, kind in fields):
        return Fields(unsigned, "")
    request, background = [unsigned[: fields[0][0].start()]], []
    has_task = any(kind is _TASKS for _, kind in fields) or len(request[0].split()) >= _FEWEST_WORDS
    is_mail = any((label[1] or "").lower() == _SUBJECT for label, _ in fields)
    ends = [*(label.start() for label, _ in fields[1:]), len(unsigned)]
    for (label, kind), end in zip(fields, ends, strict=True):
        if kind is _OTHERS or (kind is _BACKGROUND and not has_task) or (kind is _MAIL and not is_mail):
            request.append(unsigned[label.start() : end])
        elif kind is _TASKS:
            request.append(unsigned[label.end() : end])
        else:
            paragraph = None if label[2] else _PARAGRAPH.search(unsigned, label.end(), end)
            stop = end if paragraph is None else paragraph.end()
            background.append(unsigned[label.end() : stop])
            request.append(unsigned[stop:end])
    remaining = "\n".join(part.strip() for part in request if part.strip())
    return Fields(remaining, "\n".join(background)) if _LETTER.search(remaining) else Fields(text, "")


def _kind_of(label: re.Match[str]) -> frozenset[str] | None:
    """Return the labels that one is among; None for none. Within a line, only what is requested has a label."""
    word = (label[1] or label[2]).lower()
    if label.string[label.start() - 1 : label.start()] not in ("", "\n"):
        return _TASKS if word in _TASKS else None
    return next((kind for kind in (_TASKS, _BACKGROUND, _DETAILS, _MAIL) if word in kind), _OTHERS)
