"""Which lines of a prompt a machine wrote: logs, traces, code, data and tables, told from sentences by their form."""

import re
from collections.abc import Sequence
from enum import IntEnum

_PLAIN_SHARE = 0.7
"""The share of plain words from which a line is a sentence."""

_FEW_WORDS, _MANY_WORDS = 2, 12
_LONGEST = 400
"""The characters of a line that are read: its form shows in them."""

_READ_WORDS = 40
"""The words of a line that are read."""

_ENDS = ".,;:!?\"'`´‘’“”«»()[]*…。，、！？：；"
_JOINTS = str.maketrans(dict.fromkeys("-'’/&+", "a"))

_MACHINE = re.compile(
    r"""
    # times and levels of logs
    \[?\d{4}[-/.]\d\d[-/.]\d\d | \[?\d\d?:\d\d:\d\d | \[?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ ,]+(?:[A-Z]\w\w\ +\d|\d)
    | (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ {1,2}\d{1,2}\ \d\d:
    | \[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE|SEVERE)\b[\]: |-]
    # traces
    | Traceback\ \( | File\ "/ | During\ handling\ of\ the\ above | The\ above\ exception\ was | Caused\ by:
    | at\ [\w$.<>/\\-]{1,60}[.(/\\:] | from\ [\w.]*[/:] | \#\d+\ +[^\w\ ] | \.\.\.\ \d | thread\ ' | called\ `\w
    | Stack\ trace: | stack\ backtrace: | exit\ status\ \d | Exception\ in\ thread | [\w.$]{1,60}(?:Error|Exception)\b
    | panic:\ | goroutine\ \d | thrown\ in\ / | Uncaught\ | PHP\ (?:Fatal|Warning|Notice|Parse)
    # compilers, test runners, package managers, shells
    | (?:error|warning|note|info|help)(?:\[\w+\])?:\ | [\w./\\-]{1,120}:\d+(?::\d+)?:? | failed\ to\ solve:
    | (?:npm|yarn|pnpm)\ (?:ERR!|WARN|error|warn|notice) | (?:FAILED|PASSED|SKIPPED|XFAIL)\ \S*[/:]
    | make(?:\[\d+\])?:\  | \$\ \S | >>>\ \S | PS\ [A-Z]:\\ | [\w.-]{1,60}@[\w.-]{1,60}:[~/]
    # diffs, rules, tables, markup
    | diff\ --git | index\ [0-9a-f]{6} | @@\ -\d | [-+]{3}\ | [+]\ ?[\w"] | [=\-_*~#+^.]{4}
    | \|\ ?[^|\n]{0,200}\| | \+- | [├└│┌┐┘┴┬─═║╔╗╚╝] | </?[A-Za-z!?] | <!-- | -----(?:BEGIN|END)
    # mail, HTTP, SQL
    | (?:Received|Return-Path|Message-ID|MIME-Version|Content-Type|Content-Transfer-Encoding|X-[\w-]{2,40}):
    | (?:GET|POST|PUT|PATCH|DELETE|HEAD)\ (?:/|https?:) | HTTP/\d
    | (?:INSERT\ INTO|DELETE\ FROM|CREATE\ (?:TABLE|INDEX|VIEW|DATABASE)|ALTER\ TABLE|DROP\ TABLE|LOCK\ TABLES)\ [\w`"]
    # code
    | \#(?:include|define|ifdef|ifndef|endif|pragma|!/) | (?:import|package|using)\ [\w.{}*]{3,120};
    | from\ [\w.]{1,100}\ import\  | (?:def|class|func|fn|function|async|export)\ [\w$<\[{(. ]{1,100}[({:]
    | (?:public|private|protected|const|let|var|return)\ [^.\n]{0,100}[({;=]
    """,
    re.VERBOSE,
)
_CODE_ENDS = (";", "{", "}", "[", "]", "(", ")", "\\", ",", "=>")
_FIELD = re.compile(r"""(?:-[ ]+)?[\w."'/-]{1,60}[ ]?[:=](?:[ ]+(?:\S+|"[^"\n]{0,200}"?,?|'[^'\n]{0,200}'?,?))?$""")
_FENCE = re.compile(r"(?:[-*] |\d{1,3}\. )?(```|~~~)[`~]{0,20}([\w+#.{}= -]{0,40})$")


class Form(IntEnum):
    """The form of a line. A line is a `FIELD` of data, or indented code, if its neighbours are a machine's too."""

    BLANK, PROSE, FIELD, MACHINE = range(4)


def forms(lines: Sequence[str]) -> list[Form]:
    """Return the form of each line. What stands in a fence is a machine's, unless nothing closes the fence.

    The time is linear in the lines, of each of which at most 400 characters are read.
    """
    line_forms: list[Form] = []
    fence, opened = "", 0
    for position, line in enumerate(lines):
        mark = _FENCE.match(line.strip(" \t>")) if "``" in line or "~~" in line else None
        if mark is not None:
            closes = fence and mark[1].startswith(fence) and not mark[2].strip()
            fence, opened = ("", opened) if closes else (fence or mark[1], opened if fence else position + 1)
            line_forms.append(Form.MACHINE)
        else:
            line_forms.append(Form.MACHINE if fence else _form(line[:_LONGEST]))
    if fence:
        line_forms[opened:] = [_form(line[:_LONGEST]) for line in lines[opened:]]
    return _with_neighbours(line_forms)


def _form(line: str) -> Form:
    words = line.split(None, _READ_WORDS)[:_READ_WORDS]
    if not words:
        return Form.BLANK
    plain = sum(word.isalpha() or _is_plain(word) for word in words)
    if plain < _PLAIN_SHARE * len(words):
        return Form.MACHINE if len(words) > _FEW_WORDS or plain == 0 else Form.FIELD
    bare = line.strip()
    if _MACHINE.match(bare):
        return Form.MACHINE
    is_indented = line[:4].isspace() or line[0] == "\t"
    is_code = bare.endswith(_CODE_ENDS) and len(words) < _MANY_WORDS
    is_heading = "  " in bare and len(words) < _MANY_WORDS and bare.isupper()
    return Form.FIELD if is_indented or is_code or is_heading or _FIELD.match(bare) else Form.PROSE


def _is_plain(word: str) -> bool:
    """Return whether a word is one of a sentence: letters, with hyphens, an apostrophe or a slash between them."""
    bare = word.strip(_ENDS)
    return bare.isalpha() or (bare[:1].isalpha() and bare.translate(_JOINTS).isalpha())


def _with_neighbours(line_forms: list[Form]) -> list[Form]:
    """Return the forms with fields beside machine lines or other fields as a machine's, and other fields as prose."""
    decided = list(line_forms)
    last = Form.BLANK
    for position, form in enumerate(line_forms):
        if form is Form.FIELD and last in (Form.MACHINE, Form.FIELD):
            decided[position] = Form.MACHINE
        last = form if form is not Form.BLANK else last
    following = Form.BLANK
    for position in range(len(line_forms) - 1, -1, -1):
        if line_forms[position] is Form.FIELD and decided[position] is Form.FIELD:
            is_machine = following in (Form.MACHINE, Form.FIELD)
            decided[position] = Form.MACHINE if is_machine else Form.PROSE
        following = line_forms[position] if line_forms[position] is not Form.BLANK else following
    return decided
