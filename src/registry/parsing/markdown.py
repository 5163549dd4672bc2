"""Markdown of strangers made into HTML that a page of ours may show."""

import html
from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_RENDERED = 100_000
"""Characters that are rendered; a longer text is shown as it is. The worst input of this length takes 2 seconds."""

_TAGS = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "pre", "code", "details", "summary"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td"),
    *("a", "abbr", "b", "del", "em", "i", "kbd", "s", "samp", "strong", "sub", "sup"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "ol": {"start"}}


def _alternative_text(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """An image is shown as its description: loading it would tell a stranger who reads the page."""
    return html.escape(renderer.renderInlineAsText(tokens[index].children or [], options, environment))


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # the cleaner decides, for raw HTML too
    parser.add_render_rule("image", _alternative_text)
    return parser


_PARSER = _parser()


def render_markdown(text: str) -> str:
    """Return Markdown as HTML with nothing in it that runs, styles, loads or is submitted.

    CommonMark with tables and strikethrough; of raw HTML only plain text elements stay. Links keep `http`, `https`,
    `mailto` and relative targets and carry `rel="noopener noreferrer nofollow"`.
    """
    if len(text) > MAX_RENDERED:
        return f"<pre>{html.escape(text)}</pre>"
    return nh3.clean(
        _PARSER.render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
