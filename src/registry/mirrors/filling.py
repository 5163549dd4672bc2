"""Fetches all that a registry has published into its mirror. What is kept already is not fetched again."""

from collections.abc import Callable
from typing import NamedTuple

from registry.errors import RegistryError
from registry.mirrors.mirror import Mirror

Progress = Callable[[int, int], None]
"""Hears how many packages are done, and of how many."""


class Filled(NamedTuple):
    """What a mirror has after a run.

    Args:
        packages: The number of packages that it keeps.
        bytes: Their size.
        fetched: How many of them this run has fetched.
        revoked: How many versions were left out, because they are revoked.
        missing: Why others could not be had, by `id@version`.
    """

    packages: int
    bytes: int
    fetched: int
    revoked: int
    missing: dict[str, str]


def fill(mirror: Mirror, progress: Progress) -> Filled:
    """Fetch every version that the log of a registry publishes, except revoked ones.

    A version that cannot be had is left out, with the reason. Once one could not be kept, no other is fetched. Raises
    SERVICE_UNAVAILABLE if the registry cannot be read.
    """
    log = mirror.asked()
    releases = list(log.releases())
    packages = size = fetched = revoked = 0
    missing: dict[str, str] = {}
    for count, (skill_id, version, logged) in enumerate(releases):
        progress(count, len(releases))
        if log.is_revoked(skill_id, version):
            revoked += 1
            continue
        was_kept = mirror.has(logged.checksum)
        if not was_kept and (full := mirror.problem()) is not None:
            missing[f"{skill_id}@{version}"] = full
            continue
        try:
            mirror.keep_index(skill_id)
            package = mirror.package(skill_id, version)
        except RegistryError as error:
            missing[f"{skill_id}@{version}"] = error.message
            continue
        package.file.close()
        packages, size, fetched = packages + 1, size + package.size, fetched + (not was_kept)
    progress(len(releases), len(releases))
    return Filled(packages, size, fetched, revoked, missing)
