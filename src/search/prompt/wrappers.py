"""What a request is wrapped in: tags such as `<user_query>`, the fields of a ticket or a mail, a signature.

Agents, forms and mail programs write them, and they are no words of the request.
"""

import re
from typing import NamedTuple

_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w-]{0,39})>\s*", re.MULTILINE)
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|\Z)")

_READ = 20_000
"""The characters at the beginning of a prompt in which tags and fields are looked for."""

_MOST_TAGS = 8
_FEWEST_WORDS = 3

_FIELD = re.compile(
    r"""(?:^[ \t]*[*_#]{0,3}[ \t]?|(?<=[.!?;][ ]))
    ([A-Za-z][A-Za-z-]{0,20}(?:[ ][A-Za-z-]{1,20}){0,2})
    [*_]{0,3}:[*_]{0,3}(?=\s|\Z)[ \t]*""",
    re.MULTILINE | re.VERBOSE,
)
"""A label at the beginning of a line, or of a sentence: `Title: `, `**Goal:** `."""

_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n(?![ \t]*\n)[^\n]*)*")
_SIGNATURE = re.compile(r"\n-- ?\n(?:[^\n]{0,80}\n){0,5}[^\n]{0,80}\Z|\nSent from my [^\n]{1,40}\n?\Z")

_TASKS = frozenset(
    """
    ask bug description feature goal human instruction instructions issue objective problem prompt query question
    request story subject summary task title todo user
    """.split()  # noqa: SIM905 - one word per line would take a page
) | {"feature request", "user request", "user query", "user story", "the task", "my task", "your task", "my question"}
"""Labels of what is requested."""

_BACKGROUND = frozenset(
    """
    actual assistant assumptions audience background constraint constraints context environment expected note notes
    reference references system tone
    """.split()  # noqa: SIM905 - as above
) | {
    "acceptance criteria", "actual behavior", "actual behaviour", "additional context", "additional info",
    "additional information", "definition of done", "expected behavior", "expected behaviour", "output format",
    "steps to reproduce",
}  # fmt: skip
"""Labels of what is said beside the request."""

_DETAILS = frozenset(
    """
    assignee assigned author branch commit component components created date deadline due epic estimate id label labels
    link links milestone owner points priority repo reporter repository severity sprint status tags ticket type updated
    url
    """.split()  # noqa: SIM905 - as above
) | {"assigned to", "due date", "epic link", "fix version", "story points"}
"""Labels of what every ticket or commit has."""

_MAIL = frozenset({"bcc", "cc", "from", "reply-to", "sent", "to"})
_SUBJECT = "subject"
"""Labels of a mail, which it has beside a subject."""


_OTHERS: frozenset[str] = frozenset()
"""Labels that say something about the task."""


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


def without_fields(text: str) -> Fields:
    """Return a request without details such as `Priority: high`, and what is requested without its label.

    The background goes too where something is labelled as the request: a field, or what is before all fields. It ends
    with its paragraph. Fields with other labels stay whole: `Language: Rust` says something about the task. Without
    anything that remains, the text is returned as it is. The time is linear in the text.
    """
    unsigned = _SIGNATURE.sub("", text)
    fields = [(label, kind) for label in _FIELD.finditer(unsigned, 0, _READ) if (kind := _kind_of(label)) is not None]
    if all(kind is _OTHERS for _, kind in fields):
        return Fields(unsigned, "")
    request, background = [unsigned[: fields[0][0].start()]], []
    has_task = any(kind is _TASKS for _, kind in fields) or len(request[0].split()) >= _FEWEST_WORDS
    is_mail = any(label[1].lower() == _SUBJECT for label, _ in fields)
    ends = [*(label.start() for label, _ in fields[1:]), len(unsigned)]
    for (label, kind), end in zip(fields, ends, strict=True):
        if kind is _OTHERS or (kind is _BACKGROUND and not has_task) or (kind is _MAIL and not is_mail):
            request.append(unsigned[label.start() : end])
        elif kind is _TASKS:
            request.append(unsigned[label.end() : end])
        else:
            paragraph = _PARAGRAPH.search(unsigned, label.end(), end)
            stop = end if paragraph is None else paragraph.end()
            background.append(unsigned[label.end() : stop])
            request.append(unsigned[stop:end])
    remaining = "\n".join(part.strip() for part in request if part.strip())
    return Fields(remaining, "\n".join(background)) if remaining else Fields(text, "")


def _kind_of(label: re.Match[str]) -> frozenset[str] | None:
    """Return the labels that one is among; None for none. Within a line, only what is requested has a label."""
    word = label[1].lower()
    if label.string[label.start() - 1 : label.start()] not in ("", "\n"):
        return _TASKS if word in _TASKS else None
    return next((kind for kind in (_TASKS, _BACKGROUND, _DETAILS, _MAIL) if word in kind), _OTHERS)
