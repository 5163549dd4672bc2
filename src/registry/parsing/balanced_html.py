"""Makes untrusted HTML well-formed and shallow before a browser-grade parser reads it.

The HTML standard repairs misnested tags by copying: 20 kB of unclosed `<b>` and `<p>` are 9 MB once they are repaired,
and each tag is looked up among all that are open. Where every tag is closed in order and few are open at once, the
parser is linear. This is about cost alone: what comes out is as untrusted as what went in, and is sanitised next.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from html import escape, unescape

import nh3

MAX_OPEN = 60
"""The maximum nesting of elements. A tag beyond it is dropped; its content stays."""

_MARKUP = re.compile(r"<(?:(/?)([A-Za-z][A-Za-z0-9]*+)([^<>]*+)>)?")
_SENTENCE = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]{2,}+[\s,;:'-]++){4}[^\W\d_]{2}")
"""Five words in a tag: a text for agents, where people see none."""

_ATTRIBUTE = re.compile(
    r"""\s(href|title|start|alt|src|class|id|name|style|align)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'=`]++))""",
    re.IGNORECASE,
)
_CHECKBOX, _CHECKED = 'type="checkbox"', 'checked=""'
"""What pulldown-cmark writes of a task."""

_VOID = frozenset({"br", "hr"})
_COPIED = frozenset({"href", "title", "start"})
_LANGUAGE = re.compile(r"language-[A-Za-z0-9_+#.-]{1,30}")
_ANCHOR = re.compile(r"[\w.:-]{1,100}")
_ALIGNED = re.compile(r"(?:text-align: ?)?(left|center|right)")

_HTML = nh3.ALLOWED_TAGS | {"big", "font", "main", "picture", "section", "source"}
"""Elements that only lay out their content. Other tags, such as `<your-name>` and `<head>`, are words of the text."""

_NAME = re.compile(r"[^\s/>]*+")
_CLOSED_BY: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("p", "li"), frozenset()),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd"})),
    **dict.fromkeys(("td", "th"), frozenset({"td", "th"})),
    "tr": frozenset({"td", "th"}),
}
"""Elements that end where another of their kind begins, with the other elements that end there."""


ImageAddress = Callable[[str], str | None]
"""Returns the address at which we serve the image that a text names; None if it is not ours to show."""


def no_image(target: str) -> str | None:
    """Return None: no image is shown."""
    return None


def balanced_html(text: str, tags: Collection[str], images: ImageAddress = no_image) -> str:
    """Return the HTML with only these elements, all closed in order, at most `MAX_OPEN` deep.

    Attributes other than `href`, `title`, `start`, the anchors of links and footnotes (`id`), the alignment of cells
    (`align`) and the language of code (`class`) go. People see all text that agents read: comments, declarations, a
    sentence within a tag, a tag that is a word, and the content of every element, scripts and styles too, are shown as
    text. The check box of a task is a character. An image without an address of ours becomes its
    alternative text: loading it would tell others who reads the page.
    """
    return "".join(_Balancer(tags, images).pieces(text))


class _Balancer:
    def __init__(self, tags: Collection[str], images: ImageAddress) -> None:
        self._tags = frozenset(tags)
        self._images = images
        self._open: list[str] = []
        self._count = Counter[str]()

    def pieces(self, text: str) -> Iterator[str]:
        place = 0
        while match := _MARKUP.search(text, place):
            yield text[place : match.start()]
            closing, name, attributes = match.groups()
            place = match.end()
            if name is None:
                yield "&lt;"
                continue
            is_word = (name + _first_word(attributes)).lower() not in _HTML and _CHECKBOX not in attributes
            if is_word or _SENTENCE.search(attributes):
                yield escape(unescape(match[0]))
            if is_word:
                continue
            if closing:
                yield from self._closed(name.lower())
            else:
                yield from self._opened(name.lower(), attributes)
        yield text[place:]
        yield from (f"</{name}>" for name in reversed(self._open))

    def _opened(self, name: str, attributes: str) -> Iterator[str]:
        if name == "img":
            yield self._image(_kept(attributes))
        elif name == "input" and _CHECKBOX in attributes:
            yield "☑" if _CHECKED in attributes else "☐"
        elif name in _VOID:
            yield f"<{name}>"
        elif name in self._tags:
            ends = _CLOSED_BY.get(name)
            while ends is not None and self._open and (self._open[-1] == name or self._open[-1] in ends):
                yield self._pop()
            if len(self._open) < MAX_OPEN:
                self._open.append(name)
                self._count[name] += 1
                yield f"<{name}{_written(name, attributes)}>"

    def _image(self, attributes: Mapping[str, str]) -> str:
        alternative = attributes.get("alt", "")
        address = self._images(unescape(attributes["src"])) if "src" in attributes else None
        return alternative if address is None else f'<img src="{escape(address)}" alt="{alternative}">'

    def _closed(self, name: str) -> Iterator[str]:
        if self._count[name]:
            while self._open[-1] != name:
                yield self._pop()
            yield self._pop()

    def _pop(self) -> str:
        name = self._open.pop()
        self._count[name] -= 1
        return f"</{name}>"


def _first_word(attributes: str) -> str:
    """Return what follows the letters of a tag's name up to a space, such as `-name` in `<your-name>`."""
    rest = _NAME.match(attributes)
    return rest[0] if rest else ""


def _written(element: str, attributes: str) -> str:
    if "=" not in attributes:
        return ""
    safe_attributes = _kept(attributes)
    copied = {name: value for name, value in safe_attributes.items() if name in _COPIED}
    if element == "code" and _LANGUAGE.fullmatch(language := safe_attributes.get("class", "")):
        copied["class"] = language
    if element in {"a", "sup"} and _ANCHOR.fullmatch(
        anchor := safe_attributes.get("id") or safe_attributes.get("name", "")
    ):
        copied["id"] = anchor
    if element in {"td", "th"} and (
        side := _ALIGNED.fullmatch(safe_attributes.get("style") or safe_attributes.get("align", ""))
    ):
        copied["align"] = side[1]
    return "".join(f' {name}="{value}"' for name, value in copied.items())


def _kept(attributes: str) -> dict[str, str]:
    """Return the relevant attributes, the first of each name, in double quotes."""
    values: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(attributes):
        values.setdefault(name.lower(), (double or single or bare).replace('"', "&quot;"))
    return values
