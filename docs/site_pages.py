"""Adds pages of the repository to the documentation site, and makes links between files of the repository links of it.

A page at `docs/X` is at `X` in the site, every other file of the repository where it is. Files that pages link to are
part of the site, too.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).parents[1]
_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "deploy/helm/skill-registry/README.md")
_DOCS = "docs/"
_README = "README.md"
_LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)#\s]+)(#[^)\s]+)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages outside of `docs`, and the files that any page links to."""
    for name in _PAGES:
        files.append(File.generated(config, name, content=(_ROOT / name).read_text(encoding="utf-8")))
    for page in files.documentation_pages():
        for target, _ in _LINK.findall(page.content_string):
            name = _linked(page.src_uri, target)
            if not name.startswith(_DOCS) and files.get_file_from_path(name) is None and (_ROOT / name).is_file():
                files.append(File.generated(config, name, abs_src_path=str(_ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with its links as those of the site."""
    here = page.file.src_uri

    def translated(link: re.Match[str]) -> str:
        name = _linked(here, link[1])
        in_site = _README if name == _README else name.removeprefix(_DOCS)
        return f"]({posixpath.relpath(in_site, posixpath.dirname(here) or '.')}{link[2] or ''})"

    return _LINK.sub(translated, markdown)


def _linked(page: str, target: str) -> str:
    """Return the file of the repository to which a page of the site links."""
    source = page if page in _PAGES else _DOCS + page
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
