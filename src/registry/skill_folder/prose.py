"""Extracts plain text from Markdown, as the description of a SKILL.md that has none."""

import re

_MAX_LINES = 200
_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_HEADING = re.compile(r"#{1,6}[ \t]+")
_NOT_PROSE = re.compile(r"(?:\||<|!\[|\[!\[|---|===|\*\*\*|___|#!)")
_LIST_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,3}[.)])[ \t]+")
_LABEL = re.compile(r"\A\W*description\W*[:：]\W*", re.IGNORECASE)
_OTHER_LABEL = re.compile(r"\A\W*(?:name|version|author|status|created|updated)\W*[:：]", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"\*{1,3}|`+|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")


def first_paragraph(markdown: str) -> str:
    """Return the first paragraph of prose without markup; if there is none, the first list or heading."""
    heading = ""
    items: list[str] = []
    paragraph: list[str] = []
    for line in _outside_code(markdown):
        stripped = line.strip().lstrip("> ")
        if _LIST_ITEM.match(stripped) and not paragraph:
            items.append(_LIST_ITEM.sub("", stripped, count=1))
        elif _HEADING.match(stripped):
            heading = heading or _HEADING.sub("", stripped)
            if paragraph:
                break
        elif stripped and not _NOT_PROSE.match(stripped) and not _OTHER_LABEL.match(stripped):
            paragraph.append(_LABEL.sub("", stripped, count=1) if _LABEL.match(stripped) else stripped)
        elif paragraph:
            break
    return _plain(" ".join(paragraph) or "; ".join(items[:5]) or heading)


def _outside_code(markdown: str) -> list[str]:
    lines = []
    in_code = False
    for line in markdown.split("\n", _MAX_LINES)[:_MAX_LINES]:
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            lines.append(line)
    return lines


def _plain(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).split())
