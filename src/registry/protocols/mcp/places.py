"""Where the files of a skill are, and how an agent gets those that are elsewhere, in a sentence or two."""

import shlex
from pathlib import Path

from registry.catalog.installs import installed_from
from registry.catalog.locations import locations
from registry.domain.api import MIRRORS_PATH
from registry.domain.file_names import printable_name
from registry.domain.models import Skill
from registry.domain.origins import (
    GitOrigin,
    HttpOrigin,
    LocalOrigin,
    Origin,
    RegistryOrigin,
    ZipOrigin,
    address_within,
    install_command,
)
from registry.domain.source_entry import Listed
from registry.protocols.mcp.caller import Caller
from registry.protocols.mcp.definitions import GET, INSTALL
from registry.services.container import Services
from registry.services.skill_files import SkillPackage


def may_install(services: Services) -> bool:
    """Return whether this service installs skills."""
    return services.settings.profile == "local" and services.writable()


def searched_place(services: Services, caller: Caller) -> str:
    """Return the sentence that names the catalog, for a caller that can look whether it is the right one."""
    if not caller.is_here or services.settings.profile != "local":
        return ""
    data = printable_name(str(services.settings.data_dir))
    return f"The skills directory is {printable_name(str(services.local.root))}, the data directory {data}."


def installed_twin(services: Services, skill: Skill) -> Skill | None:
    """Return the skill that was installed from what a source lists, None if there is none."""
    listed = _listed(services, skill.id)
    if listed is None:
        return None
    twin = installed_from(services.database, None, skill.source, listed.id)
    return services.catalog.get(twin.skill_id) if twin else None


def base_directory(folder: Path) -> str:
    """Return the sentence that names the folder of a skill."""
    return f"Base directory of the skill, on this machine: {printable_name(str(folder))}"


def place_of_files(services: Services, caller: Caller, package: SkillPackage) -> str:
    """Return where the files of a package are. Without a word if SKILL.md is the only one."""
    folder = services.skill_files.folder(services.catalog.get(package.skill_id)) if caller.is_here else None
    if folder is not None:
        return f"{base_directory(folder)}. "
    if len(package.files) == 1:
        return ""
    command = _install_command(services, caller, package)
    ways = (f"`{command}` in the project" if command else "", f"{GET}(id, file=…) and a copy of each")
    return f"Its files are not on your machine yet. To run them, get them with {', or '.join(filter(None, ways))}. "


def _install_command(services: Services, caller: Caller, package: SkillPackage) -> str | None:
    """Return the command that installs a skill of this service in a project, None if the service has no address."""
    address = caller.address or services.settings.absolute("")
    if not address:
        return None
    if services.is_published(package.skill_id):
        return f"skill-registry install {package.skill_id}@{package.version} --from {address}"
    return None if "/" in package.skill_id else f"skill-registry install {package.skill_id} --from {address}"


def place_of_listed(services: Services, caller: Caller, skill: Skill) -> str:
    """Return where a skill is that a source lists, and how to get it with its files."""
    listed = _listed(services, skill.id)
    origin = listed.origin if listed else None
    if not skill.installable:
        return f"It cannot be installed: {skill.not_installable}."
    where = ""
    if caller.is_here and isinstance(origin, LocalOrigin):
        where = f"{base_directory(Path(origin.path))}. "
    if may_install(services):
        return f"{where}{INSTALL}(id='{skill.id}') puts it with its files into the skills directory."
    command = _mirror_command(services, caller, skill, origin) or _command_for(origin)
    if command is None:
        place = "unknown" if origin is None else "a folder of the machine of the registry"
        return where or f"Its origin is {place}."
    return f"{where}`{command}` in the project gets it with its files."


def _mirror_command(services: Services, caller: Caller, skill: Skill, origin: Origin | None) -> str | None:
    """Return the command that installs a skill from the mirror of its source, None if there is no mirror."""
    address = caller.address or services.settings.absolute("")
    if not address or not isinstance(origin, RegistryOrigin) or not services.mirrors.has(skill.source):
        return None
    return f"skill-registry install {origin.skill} --from {address.rstrip('/')}{MIRRORS_PATH}/{skill.source}"


def _listed(services: Services, skill_id: str) -> Listed | None:
    keys = services.catalog.keys([skill_id])
    place = locations(services.database, list(keys.values())).get(keys.get(skill_id, 0))
    return place.listed if place else None


def _command_for(origin: Origin | None) -> str | None:
    match origin:
        case RegistryOrigin():
            return f"{install_command(origin.skill)} --from {shlex.quote(origin.url)}"
        case GitOrigin() | ZipOrigin() if origin.subdir:
            return install_command(address_within(origin, origin.subdir))
        case GitOrigin() | ZipOrigin() | HttpOrigin():
            return install_command(origin.url)
        case _:
            return None
