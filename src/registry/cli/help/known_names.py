"""Completes ids, sources and tags in a shell, from the catalog of the data directory.

A catalog in PostgreSQL and that of a server complete nothing: a key press waits for no network. A shell puts what it is
offered on the command line as it is, so a tag with a character that means something to a shell is not offered.
"""

import importlib
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

_MOST = 200
"""How many names a shell gets: more than a person reads."""

_HARMLESS = re.compile(r"\w[\w./:+-]*")


def _complete(module: str, query: str) -> Complete:
    """Return a function that completes the column `name` of the query that a module has under a name."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        import sqlite3  # noqa: PLC0415 - only completion needs it

        path = _database(context)
        if path is None:
            return []
        names = getattr(importlib.import_module(module), query)
        begins = "where substr(name, 1, length(?1)) = ?1"
        sql = f"select distinct name from ({names}) {begins} order by name limit {_MOST}"  # noqa: S608 - a constant
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
                values = [str(name) for (name,) in connection.execute(sql, (incomplete,))]
        except sqlite3.Error:
            return []
        return [name for name in values if _HARMLESS.fullmatch(name)]

    return complete


def _database(context: click.Context) -> Path | None:
    from registry.config.settings import SettingsError, load_settings  # noqa: PLC0415 - only completion needs it

    try:
        data_dir = context.params.get("data_dir")
        settings = load_settings({"data_dir": data_dir}, context.find_root().obj, context.params.get("config"))
    except (SettingsError, OSError):
        return None
    path = settings.database_path
    return path if path is not None and path.exists() else None


complete_known = _complete("registry.catalog.names", "KNOWN")
"""Completes the id of any skill that a search can find."""

complete_installed = _complete("registry.catalog.names", "INSTALLED")
"""Completes the id of an installed skill."""

complete_source = _complete("registry.sources.names", "SOURCES")
"""Completes the name of a source."""

complete_tag = _complete("registry.catalog.names", "TAGS")
"""Completes a tag."""
