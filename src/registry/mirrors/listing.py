"""Lists what a mirror keeps, as the source of its registry lists it.

Each skill is described by its own package, whose digest is in the signed log, so no unsigned list has to be trusted.
"""

from collections.abc import Iterator

from registry.domain.models import version_parts
from registry.domain.runtime_needs import NEEDS
from registry.mirrors.kept_files import KeptPackage
from registry.mirrors.mirror import Mirror
from registry.packages.limits import PackageLimits
from registry.packages.package import describe
from registry.packages.refusal import PackageRefused
from registry.parsing.frontmatter import read
from registry.sources.registry_documents import Change, listed_skill

_FIELDS = ("description", "version", "author", "license", "tags", "capabilities")


def kept_skills(mirror: Mirror) -> Iterator[Change | str]:
    """Yield every skill of the log: by its highest active version, or without a listing if none is active.

    A text is a warning about one whose package is not kept, or cannot be read. Raises LogDamaged, OSError.
    """
    log = mirror.kept_log()
    for skill_id in log.skills():
        state = {version: log.withdrawal(skill_id, version) for version in log.packages(skill_id)}
        active = [
            version for version, withdrawal in state.items() if withdrawal is None or withdrawal.state == "deprecated"
        ]
        if not active:
            yield Change(skill_id, None)
            continue
        version = max(active, key=version_parts)
        package = mirror.files.package(log.packages(skill_id)[version].checksum)
        if package is None:
            yield f"'{skill_id}' was skipped: the package of its highest version, {version}, is not kept"
            continue
        try:
            fields = _fields(package)
            fields["download_url"] = f"{mirror.url}/packages/{skill_id}/{version}.zip"
            yield Change(skill_id, listed_skill(mirror.url, skill_id, fields, state[version]))
        except (PackageRefused, ValueError) as error:
            yield f"'{skill_id}' was skipped: its package {version} cannot be read: {error}"


def _fields(package: KeptPackage) -> dict[str, object]:
    """Return the fields of the change feed that a package states. Raises PackageRefused."""
    with package.file:
        metadata, skill_file = describe(package.file, PackageLimits(archive_bytes=package.size))
    stated: dict[str, object] = {name: getattr(metadata, name) for name in _FIELDS}
    stated |= {name: getattr(metadata.needs, name) for name in NEEDS}
    needed = [str(dependency) for dependency in metadata.dependencies]
    return stated | {"name": metadata.title, "dependencies": needed, "body": read(skill_file).body}
