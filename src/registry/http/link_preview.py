"""What previews of links show of a skill: the title, the description and the OpenGraph tags of its page."""

from html import escape

_TITLE = b"<title>Skill Registry</title>"
_DESCRIPTION = b'<meta name="description" content="Find, judge and install skills for coding agents">'
_MOST = 300
"""The characters of a name or a description that are shown."""


def with_preview(page: bytes, name: str, description: str, url: str) -> bytes:
    """Return the page with what is shown of a skill. Its texts are attributes and text, never markup."""
    title, about, link = (escape(" ".join(text.split())[:_MOST]) for text in (name, description, url))
    tags = (
        f'<meta name="description" content="{about}">',
        *(f'<meta property="og:{key}" content="{value}">' for key, value in _graph(title, about, link)),
        '<meta name="twitter:card" content="summary">',
    )
    page = page.replace(_TITLE, f"<title>{title} · Skill Registry</title>".encode("utf-8", "replace"))
    return page.replace(_DESCRIPTION, "\n  ".join(tags).encode("utf-8", "replace"))


def _graph(title: str, about: str, link: str) -> tuple[tuple[str, str], ...]:
    return (
        ("type", "website"),
        ("site_name", "Skill Registry"),
        ("title", title),
        ("description", about),
        ("url", link),
    )
