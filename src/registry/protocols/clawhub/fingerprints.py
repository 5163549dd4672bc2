"""The fingerprint by which ClawHub clients recognise the files of a version.

It is the SHA-256 of the lines `path:sha256`, in the order of JavaScript's `localeCompare`. Files with a hidden segment
in their path and those below `node_modules` do not count, because clients do not see them on disk. Version 0.20 of the
client sees only files that it takes for text.
"""

import hashlib
import unicodedata
from collections.abc import Iterable

from registry.services.container import Services
from registry.services.skill_files import PackagedFile, SkillPackage
from search.lru_cache import LruCache

_ALPHABET = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_WEIGHTS = {character: weight for weight, character in enumerate(_ALPHABET)}
_CARD = "skill-card.md"
"""A file that clients make. They leave it out when they publish, but not when they update."""

_TEXT_ENDINGS = frozenset({
    "c", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "dat", "env", "go", "h", "hpp", "html", "ini", "java",
    "js", "json", "json5", "jsx", "kt", "md", "mdx", "mjs", "properties", "ps1", "psd1", "psm1", "py", "r",
    "rb", "rs", "sass", "scss", "sh", "sql", "svg", "swift", "toml", "ts", "tsv", "tsx", "txt", "xml", "yaml",
    "yml",
})  # fmt: skip
"""The endings of files that version 0.20 of the client takes for text, whatever is in them."""

_SAMPLE_BYTES = 4096
_MOST_VERSIONS = 20
_kept: LruCache[str, frozenset[str]] = LruCache(10_000)
"""The fingerprints of published packages, by the digest of the package."""


def locale_key(path: str) -> tuple[list[int], list[str], list[bool], str]:
    """Return the sort key of a path in the order of `localeCompare`.

    Accents decide between equal letters, and then case. Letters beyond Latin come last, by code point.
    """
    letters: list[str] = []
    accents: list[str] = []
    for character in unicodedata.normalize("NFD", path):
        if letters and unicodedata.combining(character):
            accents[-1] += character
        else:
            letters.append(character)
            accents.append("")
    weights = [_WEIGHTS.get(letter.lower(), len(_ALPHABET) + ord(letter)) for letter in letters]
    return weights, accents, [letter.isupper() for letter in letters], path


def fingerprint(files: Iterable[PackagedFile]) -> str:
    """Return the fingerprint of files, in hexadecimal."""
    ordered = sorted(files, key=lambda file: locale_key(file.path))
    return hashlib.sha256("\n".join(f"{file.path}:{file.sha256}" for file in ordered).encode()).hexdigest()


def matching_version(services: Services, skill_id: str, wanted: str) -> str | None:
    """Return the version whose files have a fingerprint, None if none of the newest 20 has it. Raises SKILL_NOT_FOUND.

    Only listed versions count. Raises CONFLICT, SERVICE_UNAVAILABLE too.
    """
    if not services.is_published(skill_id):
        package = services.skill_files.get(skill_id)
        return package.version if wanted in _fingerprints(package) else None
    active = [version for version in services.published.summaries(skill_id) if version.state == "active"]
    for version in reversed(active[-_MOST_VERSIONS:]):
        cached = _kept.get(version.checksum)
        if cached is None:
            cached = _fingerprints(services.skill_files.get(skill_id, version.version))
            _kept.put(version.checksum, cached)
        if wanted in cached:
            return version.version
    return None


def _fingerprints(package: SkillPackage) -> frozenset[str]:
    """Return the fingerprints of a package: as it is published, as it lies on disk, and of its texts alone."""
    visible = [file for file in package.files.values() if _is_visible(file.path)]
    without_card = [file for file in visible if file.path.lower() != _CARD]
    return frozenset(map(fingerprint, (visible, without_card, filter(_is_text, visible))))


def _is_visible(path: str) -> bool:
    return not any(part.startswith(".") or part == "node_modules" for part in path.split("/"))


def _is_text(file: PackagedFile) -> bool:
    """Return what version 0.20 of the client decides by the ending, and without one by the first bytes."""
    _, dot, ending = file.path.rpartition("/")[2].rpartition(".")
    if dot:
        return ending.lower() in _TEXT_ENDINGS
    sample = file.data[:_SAMPLE_BYTES]
    try:
        sample.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in sample
