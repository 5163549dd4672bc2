"""The fingerprint by which ClawHub clients recognise the files of a version.

It is the SHA-256 of the lines `path:sha256`, in the order of JavaScript's `localeCompare`. Files with a hidden segment
in their path and those below `node_modules` do not count, because clients do not see them on disk.
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
    active = [version for version in services.published.versions(skill_id) if version.state == "active"]
    for version in reversed(active[-_MOST_VERSIONS:]):
        known = _kept.get(version.checksum)
        if known is None:
            known = _fingerprints(services.skill_files.get(skill_id, version.version))
            _kept.put(version.checksum, known)
        if wanted in known:
            return version.version
    return None


def _fingerprints(package: SkillPackage) -> frozenset[str]:
    """Return the fingerprints of a package: as it is published, and as it lies on disk."""
    visible = [file for file in package.files.values() if _is_visible(file.path)]
    return frozenset({fingerprint(visible), fingerprint(file for file in visible if file.path.lower() != _CARD)})


def _is_visible(path: str) -> bool:
    return not any(part.startswith(".") or part == "node_modules" for part in path.split("/"))
