"""What a request is wrapped in: tags such as `<user_query>`, the fields of a ticket or a mail, a signature.

Agents, their programs, forms and mail programs write them, and they are no words of the request.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from search.prompt.labels import (
    ACTION,
    ACTION_INPUT,
    BACKGROUND,
    CONTEXT_NAMES,
    CONTEXT_PARTS,
    DETAILS,
    MAIL,
    MEMBERS,
    OF_SESSIONS,
    OTHERS,
    REQUEST_TAGS,
    SUBJECT,
    TASKS,
    TRACED,
)

_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w-]{0,39})([ \t][^<>\n]{0,200})?>\s*", re.MULTILINE)
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TURN = re.compile(r"<\|[A-Za-z_]{2,20}\|>(?:(user|assistant|system|tool)\b(?:<\|[A-Za-z_]{2,20}\|>)?)?\s*")
"""A mark of a chat template, with whose turn begins there: `<|im_start|>user`."""

_REQUEST_HEADING = re.compile(
    r"""^\#{1,6}\ (?:my|the|current|user|(?:the\ )?user's)\ request(?:\ (?:for|to)\ \w{1,20})?:?[ \t]*\n""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
"""The heading after which the request stands, as some editors write it: `## My request for Codex:`."""

_BEGIN = re.compile(r"^Begin![ \t]*\n", re.MULTILINE)
"""The line after which the request stands in the template of ReAct."""

_CRITERIA = "\nThis is the expected criteria for your final answer:"
"""What a framework of agents writes after a request."""

_RULES_FILE = re.compile(r"^# [A-Z]{3,12}\.md instructions[^\n]*\n\s*<INSTRUCTIONS>", re.MULTILINE)
_RULES_FILE_END = "</INSTRUCTIONS>"
_REFERENCED = re.compile(r"^--- Content from [^\n]{1,80} ---\n", re.MULTILINE)
_REFERENCED_END = "\n--- End of content ---"
"""What stands around the files that a prompt names."""

_CALL = re.compile(r"\A\s*[A-Za-z_][\w.]{1,60}\(\s*(?=\{)")
"""The beginning of a call of a tool with a JSON object, such as `search_skills({"query": …})`."""

_SPEAKER = re.compile(
    r"""^[ \t]*(?:
    \[(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ T])?\d{1,2}:\d\d(?::\d\d)?(?:[ ]?[ap]m)?\][ ]{0,3}
      (?:<?[^\W\d_][\w.'-]{0,20}(?:[ ][\w.'-]{1,20}){0,2}>?:[ ])?
    | [^\W\d_][\w.'-]{0,20}(?:[ ][\w.'-]{1,20}){0,2}[ ]\(\d{1,2}:\d\d(?::\d\d)?\):[ ]?
    | [^\W\d_][\w.'-]{0,20}(?:[ ][\w.'-]{1,20}){0,2}[ ](?:[ ]|[—–-][ ](?:today|yesterday)[ ]at[ ])
      \d{1,2}:\d\d(?:[ ]?[ap]m)?[ \t]*\n
    | \d{1,5}\n\d\d:\d\d:\d\d[,.]\d{3}[ ]-->[ ]\d\d:\d\d:\d\d[,.]\d{3}\n
    )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
"""Who said a line of a chat or a transcript, and when: `[29/11/2026, 10:02:11] Ann: `, `Ann (00:01:12): `."""

_SESSION = re.compile(
    r"""\A\s*(?:
    (?:today(?:'s\ date)?|(?:the\ )?current\ (?:date|time))(?:\ is|:)\ [^\n]{0,40}?\d{4}[^\s.]{0,12}[.\s]
    | you\ (?:have\ access\ to|(?:can|may)\ (?:also\ )?use)\ (?:all\ of\ |any\ of\ )?(?:the\ following\ |these\ )?
      (?:commands|functions|mcp\ servers|tools)\b[^\n.]{0,400}[.\n]
    | (?:(?:actually|also|and|continue|go\ on|great|next|no|now|ok(?:ay)?|perfect|proceed|then|wait|yes)
      [,.:;!\s]{1,3}){1,5}(?<=[,.:;!]\s)(?!\w{1,20},))\s*""",
    re.VERBOSE | re.IGNORECASE,
)
"""What an agent says before a request about its session: the day, its tools, that it goes on."""

_MOST_SESSION_LINES = 4
_SESSION_READ = 600

_READ = 20_000
"""The characters at the beginning of a prompt in which tags and fields are looked for."""

_MOST_TAGS = 16
_FEWEST_WORDS = 3

_FIELD = re.compile(
    r"""(?:^[ \t]*(?:[-*•][ ])?[*_]{0,3}[ \t]?|(?<=[.!?;][ ]))
    ([A-Za-z][A-Za-z-]{0,20}(?:[ ][A-Za-z-]{1,20}){0,2})
    [*_]{0,3}(?::[*_]{0,3}(?=\s|\Z)|[ ][-–—](?=[ ]))[ \t]*
    | ^[ \t]*\#{1,6}[ \t]+[*_]{0,3}([A-Za-z][A-Za-z-]{0,20}(?:[ ][A-Za-z-]{1,20}){0,2})[*_]{0,3}:?[ \t]*\#{0,6}$""",
    re.MULTILINE | re.VERBOSE,
)
"""A label at the beginning of a line or of a sentence, or a heading: `Title: `, `**Goal:** `, `## Context`."""

_LETTER = re.compile(r"[^\W\d_]")
_LINE = re.compile(r"\S[^\n]*")
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
    r"""\[(?:image|pasted|screenshot|attach|file\b|request\ interrupted)[^\]\n]{0,80}\]
    | \[(?:context|env|environment|meta|metadata|session|state|system|workspace)(?:[ ][\w-]{1,20})?[:=]
      [^\]\n]{0,300}\]
    | \[[\w-][\w \t-]{0,60}\.(?:gif|heic|jpe?g|mov|mp4|png|webp)\]""",
    re.VERBOSE | re.IGNORECASE,
)
"""What agents and mail programs write for a paste or an image: `[Pasted text #1 +20 lines]`, `[screenshot.png]`."""

_DEEPEST_MEMBER = 6

_Field = tuple[re.Match[str], frozenset[str]]
"""A label in a text, and the labels that it is among."""


class Unwrapped(NamedTuple):
    """A request, and what an agent's program said beside it."""

    request: str
    context: str


class Fields(NamedTuple):
    """A request without its fields, and what was left out: its background, which says little about the task."""

    request: str
    background: str


def unwrapped(text: str) -> Unwrapped:
    """Return the request of a prompt without the tags, the JSON and the context that an agent's program put around it.

    What is nothing else is returned as it is, without the tags around sentences.
    """
    context = []
    if text.lstrip().startswith("<|"):
        text = _last_turn(text)
    end = text.find(_REFERENCED_END)
    if end >= 0 and (files := _REFERENCED.search(text, 0, end)):
        context.append(text[files.end() : end])
        text = f"{text[: files.start()]}{text[end + len(_REFERENCED_END) :]}"
    if "# " in text or "Begin!" in text:
        text, before = _after_heading(text)
        context += before
    if "</" in text:
        text, inner = _without_tags(text)
        context += inner
    request, sign, criteria = text.partition(_CRITERIA)
    if sign and _LETTER.search(request):
        context.append(f"{sign}{criteria}".lstrip("\n"))
        text = request
    return Unwrapped(_without_json(text) if text.rstrip()[-1:] in ("}", "]", ")") else text, "\n".join(context))


def _last_turn(text: str) -> str:
    """Return what the user says last in a conversation in the marks of a chat template."""
    marks = list(_TURN.finditer(text, 0, _READ))
    turns = [place for place, mark in enumerate(marks) if mark[1] == "user"]
    if not turns:
        return _TURN.sub("", text)
    end = marks[turns[-1] + 1].start() if turns[-1] + 1 < len(marks) else len(text)
    said = text[marks[turns[-1]].end() : end]
    return said if _LETTER.search(said) else text


def _after_heading(text: str) -> tuple[str, list[str]]:
    """Return a prompt without the file of rules before it and what is before the heading of the request, and both."""
    request, before = text, []
    rules = _RULES_FILE.search(request, 0, _READ)
    end = -1 if rules is None else request.find(_RULES_FILE_END, rules.end())
    if rules is not None and end >= 0:
        before.append(request[rules.end() : end])
        request = f"{request[: rules.start()]}{request[end + len(_RULES_FILE_END) :]}"
    is_marked = request.lstrip().startswith(("#", "<"))
    heading = _REQUEST_HEADING.search(request, 0, _READ) if is_marked else _BEGIN.search(request, 0, _READ)
    if heading is not None:
        before.append(request[: heading.start()])
        request = request[heading.end() :]
    return (request, before) if _LETTER.search(request) else (text, [])


def _without_tags(text: str) -> tuple[str, list[str]]:
    """Return a prompt without the tags around sentences, and what is in the tags of a context beside them.

    Tags stand from the beginning of a line to the end of one. What has tags within it, or hardly any words, is markup
    that the request is about, and stays. So does what a colon introduces, as in `implement this plan: <plan>…`.
    """
    parts: list[str] = []
    outer: list[str] = []  # as `parts`, with the context
    context: list[str] = []
    start = position = 0
    for _ in range(_MOST_TAGS):
        opening = _OPENING.search(text, position, _READ)
        if opening is None:
            break
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        position = opening.end() if end < 0 else end + len(closing)
        inner = text[opening.end() : max(end, 0)]
        if end < 0 or not _ENDS_LINE.match(text, position):
            continue
        before = text[start : opening.start()]
        is_context = _is_context(opening[1]) and not before.rstrip().endswith(":")
        is_sentence = not opening[2] and len(inner.split()) >= _FEWEST_WORDS and not inner.startswith("<")
        if is_context or is_sentence:
            kept = inner.rstrip() if is_sentence else text[opening.start() : position]
            outer += [before, kept]
            parts += [before] if is_context else [before, kept]
            context += [inner] if is_context else []
            start = position
    request = "".join((*parts, text[start:]))
    return (request, context) if _LETTER.search(request) else ("".join((*outer, text[start:])), [])


def _is_context(tag: str) -> bool:
    """Return whether a tag with this name has what an agent's program says beside a request."""
    words = [word.lower() for word in _PART.findall(tag)]
    label = " ".join(words)
    if label in REQUEST_TAGS:
        return False
    return label in CONTEXT_NAMES or not (tag.istitle() or CONTEXT_PARTS.isdisjoint(words))  # `<Tabs>` is a component


def _without_json(text: str) -> str:
    """Return the request within a JSON text, such as the body of a call or a conversation, of which it is the last.

    A text that is no JSON, or whose members say nothing of a request, is returned as it is.
    """
    call = _CALL.match(text)
    try:
        bare = text if call is None else text[call.end() :].rstrip(" \n;").removesuffix(")")
        value = msgspec.json.decode(bare) if len(text) <= _READ else None
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
        return next(filter(None, (_request_in(value.get(name), depth - 1) for name in MEMBERS)), "")
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
    unsigned = _without_session(_SPEAKER.sub("", unsigned) if ":" in unsigned else unsigned)
    if len(unsigned.split()) < min(_FEWEST_WORDS, len(text.split())):
        unsigned = text
    labels = [(label, kind) for label in _FIELD.finditer(unsigned, 0, _READ) if (kind := _kind_of(label)) is not None]
    fields = _with_companions(labels)
    if all(kind is OTHERS for _, kind in fields):
        return Fields(unsigned, "")
    request, background = [unsigned[: fields[0][0].start()]], []
    has_task = any(kind is TASKS for _, kind in fields) or len(request[0].split()) >= _FEWEST_WORDS
    ends = [*(label.start() for label, _ in fields[1:]), len(unsigned)]
    for (label, kind), end in zip(fields, ends, strict=True):
        if kind is OTHERS or (kind is BACKGROUND and not has_task):
            request.append(unsigned[label.start() : end])
        elif kind is TASKS:
            request.append(unsigned[label.end() : end])
        else:
            value_in = _LINE.search if kind is DETAILS else _PARAGRAPH.search
            paragraph = None if label[2] else value_in(unsigned, label.end(), end)
            stop = end if paragraph is None else paragraph.end()
            background.append(unsigned[label.end() : stop])
            request.append(unsigned[stop:end])
    remaining = "\n".join(part.strip() for part in request if part.strip())
    return Fields(remaining, "\n".join(background)) if _LETTER.search(remaining) else Fields(text, "")


def _with_companions(fields: Sequence[_Field]) -> list[_Field]:
    """Return fields, of which those that belong to a mail, a trace or a session are others where it is none."""
    words = {_word_of(label) for label, _ in fields}
    others = set(MAIL if SUBJECT not in words else ())
    others.update((ACTION,) if ACTION_INPUT not in words else ())
    others.update(TRACED if all(kind is not TASKS for _, kind in fields) else ())
    others.update(OF_SESSIONS if DETAILS.isdisjoint(words - OF_SESSIONS) else ())
    return [(label, OTHERS if _word_of(label) in others else kind) for label, kind in fields]


def _word_of(label: re.Match[str]) -> str:
    return (label[1] or label[2]).lower()


def _without_session(text: str) -> str:
    """Return a request without what its agent says before it about the session; all of it if it is nothing else."""
    start = 0
    for _ in range(_MOST_SESSION_LINES):
        said = _SESSION.match(text[start : start + _SESSION_READ])
        if said is None or not _LETTER.search(text, start + said.end()):
            break
        start += said.end()
    return text[start:]


def _kind_of(label: re.Match[str]) -> frozenset[str] | None:
    """Return the labels that one is among; None for none. Within a line, only what is requested has a label."""
    word = _word_of(label)
    if label.string[label.start() - 1 : label.start()] not in ("", "\n"):
        return TASKS if word in TASKS else None
    return next((kind for kind in (TASKS, BACKGROUND, DETAILS, MAIL) if word in kind), OTHERS)
