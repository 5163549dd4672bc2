"""Atom feeds (RFC 4287), as far as this service needs them."""

import re
import uuid
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree as Xml

MEDIA_TYPE = "application/atom+xml"

_ATOM = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have, not even escaped."""

_BEGINNING = "1970-01-01T00:00:00Z"


class FeedEntry(NamedTuple):
    """An entry. `key` never changes and names it alone; `at` is a time as RFC 3339 has it. All texts are plain."""

    key: str
    title: str
    url: str
    author: str
    at: str
    text: str
    tags: Sequence[str]


def feed(key: str, title: str, url: str, page: str, entries: Sequence[FeedEntry]) -> bytes:
    """Return a feed of entries, the newest first. `url` is its own address, `page` that of what it is about."""
    root = Xml.Element("feed", {"xmlns": _ATOM})
    _add(root, "id", _urn(key))
    _add(root, "title", title)
    _add(root, "updated", entries[0].at if entries else _BEGINNING)
    Xml.SubElement(root, "link", {"rel": "self", "type": MEDIA_TYPE, "href": _clean(url)})
    Xml.SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": _clean(page)})
    for entry in entries:
        _add_entry(root, entry)
    content: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return content


def _add_entry(root: Xml.Element, entry: FeedEntry) -> None:
    element = Xml.SubElement(root, "entry")
    _add(element, "id", _urn(entry.key))
    _add(element, "title", entry.title)
    _add(element, "updated", entry.at)
    _add(element, "published", entry.at)
    Xml.SubElement(element, "link", {"rel": "alternate", "type": "text/html", "href": _clean(entry.url)})
    _add(Xml.SubElement(element, "author"), "name", entry.author)
    for tag in entry.tags:
        Xml.SubElement(element, "category", {"term": _clean(tag)})
    _add(element, "summary", entry.text)


def _add(parent: Xml.Element, name: str, text: str) -> None:
    Xml.SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _urn(key: str) -> str:
    """Return an id that depends on the key alone, whatever address the service is reached at."""
    return uuid.uuid5(uuid.NAMESPACE_URL, key).urn
