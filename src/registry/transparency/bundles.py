"""Bundles: the entries of the log as files outside of the database, so that the log can be built again from them.

A file holds 256 entries, one canonical text a line. A full file never changes; the last one grows. A checkpoint of the
log signs their content: the leaf of an entry is the hash of its line.
"""

from collections.abc import Sequence

from registry.transparency.checkpoint import file_stem

BUNDLE_ENTRIES = 256
"""The number of entries in a full bundle."""


class BundleInvalid(Exception):
    """A bundle does not hold the entries that it should; the message says what it holds."""


def bundle_file(name: str, number: int) -> str:
    """Return the path of a bundle of a log. The folder cannot clash with a scope, which has no dot."""
    return f"{file_stem(name)}.entries/{number:06d}"


def bundle_count(size: int) -> int:
    """Return the number of bundles of a log of `size` entries."""
    return -(-size // BUNDLE_ENTRIES)


def bundle_range(number: int, size: int) -> range:
    """Return the numbers of the entries in a bundle of a log of `size` entries."""
    return range(number * BUNDLE_ENTRIES, min((number + 1) * BUNDLE_ENTRIES, size))


def write_bundle(entries: Sequence[str]) -> bytes:
    """Return the bundle of these entries, which are canonical texts."""
    return "".join(f"{entry}\n" for entry in entries).encode()


def read_bundle(content: bytes, count: int) -> list[str]:
    """Return the `count` entries of a bundle. Raises BundleInvalid if it holds another number, or bytes of no entry."""
    try:
        entries = content.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise BundleInvalid(f"it is not text: {error.reason}") from None
    if entries.pop():
        raise BundleInvalid("its last line is cut off")
    if len(entries) != count:
        raise BundleInvalid(f"it has {len(entries)} entries instead of {count}")
    return entries
