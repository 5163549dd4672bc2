"""The index files of a mirror, parsed. A file is parsed once, and again only when its bytes have changed."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from registry.mirrors.kept_log import KeptLog, LoggedPackage
from registry.parsing.json_document import read_json
from registry.sources.log_monitor import LogRefused
from registry.sources.registry_documents import Release, read_lines
from search.lru_cache import LruCache

_log = logging.getLogger("registry.mirrors")

_MOST_BYTES = 4 << 20
"""Of the index files that are kept in memory. Parsed, they take several times as much."""


class IndexLine(NamedTuple):
    """A version that an index file lists, and all fields of its line."""

    release: Release
    fields: Mapping[str, Any]


class ParsedIndex(NamedTuple):
    """The lines of an index file by version, in order, and the digest and size of the file."""

    lines: Mapping[str, IndexLine]
    digest: bytes
    bytes: int

    def lists_all(self, log: KeptLog, skill_id: str) -> bool:
        """Return whether the file lists every version that the log has. Nothing else of one changes later."""
        return self.lines.keys() >= log.packages(skill_id).keys()

    def check(self, log: KeptLog, skill_id: str) -> None:
        """Raise LogRefused if the file lists what the log does not have."""
        logged: Mapping[str, LoggedPackage] = log.packages(skill_id)
        for version, line in self.lines.items():
            entry = logged.get(version)
            if entry is None or entry.checksum != line.release.checksum:
                raise LogRefused(
                    f"the index lists {line.release.checksum} as {skill_id} {version}, and the log has "
                    f"{entry.checksum if entry else 'no such version'}"
                )


class IndexParser:
    """Parses the index files of the registry at `url`, and remembers those that were used last."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._parsed: LruCache[str, ParsedIndex] = LruCache(_MOST_BYTES, lambda skill_id, parsed: parsed.bytes + 1)

    def parsed(self, skill_id: str, body: bytes) -> ParsedIndex:
        """Return the index file of a skill, without the lines that cannot be read."""
        digest, entry = hashlib.sha256(body).digest(), self._parsed.get(skill_id)
        if entry is not None and entry.digest == digest:
            return entry
        read = read_lines(
            self._url, skill_id, body, lambda text: _log.warning("%s: index of %s: %s", self._url, skill_id, text)
        )
        lines = {release.version: IndexLine(release, read_json(raw, dict[str, Any])) for release, raw in read}
        parsed = ParsedIndex(lines, digest, len(body))
        self._parsed.put(skill_id, parsed)
        return parsed
