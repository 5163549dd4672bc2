"""The repositories of single skills, made anew for each request."""

from dulwich.objects import ShaFile

from registry.catalog.folder_ids import present_id
from registry.domain.withdrawals import described
from registry.protocols.agentskills import named_package
from registry.protocols.git.addresses import SkillAddress
from registry.protocols.git.objects import commit, folder_objects
from registry.protocols.git.packs import Pack, PackWriter
from registry.services.container import Services
from registry.services.skills import withdrawal_of


def skill_head(services: Services, address: SkillAddress) -> str:
    """Return the name of the commit of a skill. Raises SKILL_NOT_FOUND, NOT_FOUND, CONFLICT, SERVICE_UNAVAILABLE."""
    return _objects(services, address)[-1].id.decode()


def skill_pack(services: Services, address: SkillAddress) -> tuple[str, Pack]:
    """Return the name of the commit of a skill, and the pack of its objects. Raises as `skill_head`."""
    objects = _objects(services, address)
    with PackWriter(services.settings.data_dir) as writer:
        writer.add(objects)
        return objects[-1].id.decode(), writer.finish()


def skill_warning(services: Services, address: SkillAddress) -> str:
    """Return how a skill is withdrawn in a sentence, empty if it is not. Raises SKILL_NOT_FOUND."""
    version, withdrawn = withdrawal_of(services, present_id(services.catalog, address.skill_id), address.version)
    return f"WARNING of the registry: {described(version, withdrawn)}" if withdrawn else ""


def _objects(services: Services, address: SkillAddress) -> list[ShaFile]:
    package = named_package(services, present_id(services.catalog, address.skill_id), address.version)
    objects = list(folder_objects(package.files))
    return [*objects, commit(objects[-1].id, f"{package.skill_id} {package.version}")]
