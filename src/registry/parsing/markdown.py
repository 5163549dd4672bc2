"""Untrusted Markdown rendered to HTML that is safe to embed in our pages, in time linear in its length.

pulldown-cmark renders, `balanced_html` bounds what its output can cost, and nh3 sanitises last, so that safety depends
on nh3 alone.
"""

import html
import re

import nh3
import pyromark

from registry.parsing.balanced_html import ImageAddress, balanced_html, no_image

MAX_RENDERED = 100_000
"""The maximum number of characters to render. A longer text is shown verbatim."""

MAX_HTML = 300_000
"""The maximum length of the HTML before sanitising. A text that renders to more is shown verbatim."""

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_GFM
)

# What pulldown-cmark writes. A text may hold the same as raw HTML, which then reads as a footnote or a quote.
_FOOTNOTE = re.compile(
    r'<div class="footnote-definition" id="([^"<>]*+)"><sup class="footnote-definition-label">([0-9]{1,6})</sup>'
    r"(\n<p>)?"
)
_REFERENCE = re.compile(r'<sup class="footnote-reference"><a href="#[^"<>]*+">([0-9]{1,6})</a></sup>')
_ALERT = re.compile(r'<blockquote class="markdown-alert-(note|tip|important|warning|caution)">')

# pulldown-cmark visits every open list and quote for each line, and every line of a paragraph for each line of a link
# title. These limits keep both from growing with the square of the text.
_DEEP = re.compile(r"^[ \t]*+(?:(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))[ \t]*+){50}", re.MULTILINE)
_MAX_LINE_PAIRS = 2_000 * 2_000
_LINE_BREAK = re.compile(r"\r\n?|\n")

_TAGS = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "pre", "code", "details", "summary"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td"),
    *("a", "abbr", "b", "del", "em", "i", "kbd", "s", "samp", "strong", "sub", "sup"),
}
_ATTRIBUTES = {
    "a": {"href", "title", "id"},
    "abbr": {"title"},
    "ol": {"start"},
    "img": {"src", "alt"},
    "code": {"class"},
    "sup": {"id"},
    "td": {"align"},
    "th": {"align"},
}


def render_markdown(text: str, images: ImageAddress = no_image) -> str:
    """Return Markdown as HTML without scripts, styles, external content and forms.

    CommonMark with tables, strikethrough, task lists, alerts, and footnotes with their labels. Of raw HTML only plain
    text elements stay, and an image that `images` has no address for is its description. Links keep `http`, `https`,
    `mailto` and relative targets and carry
    `rel="noopener noreferrer nofollow"`. A text that is too long, nests 50 lists and quotes in one line, or has
    paragraphs of thousands of lines, is shown as it is.
    """
    if len(text) > MAX_RENDERED or _DEEP.search(text) or _line_pairs(text) > _MAX_LINE_PAIRS:
        return _as_it_is(text)
    rendered = _with_labels(pyromark.html(text, options=_OPTIONS))
    if len(rendered) > MAX_HTML:
        return _as_it_is(text)
    return nh3.clean(
        balanced_html(rendered, _TAGS, images),
        tags=_TAGS if images is no_image else _TAGS | {"img"},
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _with_labels(rendered: str) -> str:
    """Return the HTML with the words that agents read: labels of footnotes instead of numbers, and kinds of alerts."""
    labels = {number: label for label, number, _ in _FOOTNOTE.findall(rendered)}
    seen = set[str]()

    def reference(match: re.Match[str]) -> str:
        number = match[1]
        place = "" if number in seen else f' id="fnref-{number}"'
        seen.add(number)
        return f'<sup{place}><a href="#fn-{number}">{labels.get(number, number)}</a></sup>'

    def footnote(match: re.Match[str]) -> str:
        label, number, paragraph = match.groups(default="")
        back = f'<a href="#fnref-{number}">{label}</a>' if number in seen else label
        return f'{paragraph}<sup id="fn-{number}">{back}</sup> '

    text = _ALERT.sub(lambda match: f"<blockquote><p><strong>{match[1].title()}</strong></p>", rendered)
    return _FOOTNOTE.sub(footnote, _REFERENCE.sub(reference, text))


def _line_pairs(text: str) -> int:
    """Return the sum of the squared numbers of lines of all paragraphs."""
    pairs = lines = 0
    for line in _LINE_BREAK.split(text):
        if line.strip(" \t"):
            lines += 1
        else:
            pairs, lines = pairs + lines * lines, 0
    return pairs + lines * lines


def _as_it_is(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
