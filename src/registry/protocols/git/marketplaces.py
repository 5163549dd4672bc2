"""The repositories with the plugins of all skills or of those of a scope. They are kept until the catalog changes."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from dulwich.objects import ObjectID

from registry.catalog.dependents import installed_ids
from registry.domain.counts import counted
from registry.domain.dependencies import named_dependencies
from registry.errors import RegistryError, not_found
from registry.http.quick_reads import quickly
from registry.http.thread_pools import ThreadPool
from registry.protocols.agentskills import description_of, named_package
from registry.protocols.git.objects import commit, folder_objects
from registry.protocols.git.packs import Pack, PackWriter
from registry.protocols.git.plugins import Plugin, marketplace_objects, plugin_names, plugin_objects
from registry.services.container import Services
from registry.services.names import name_of
from registry.services.skills import withdrawal_of
from search.lru_cache import LruCache

ALL = ""
"""The scope that stands for all skills."""

_HASH_DIGITS = 8
_KEPT = 32
_FORMER_SECONDS = 60
"""How long a clone that began before a change may still get its pack."""

_BUILDER = ThreadPool("the builder of marketplaces", threads=1, queue=200)
"""Builds one marketplace at a time. A request that waits for it holds no thread."""


class _Skill(NamedTuple):
    """What a pack has of a skill at a revision: what its plugin says, and where the objects of its folder are.

    `needs` are the ids of the skills that it needs.

    Without `places`, the skill has no name of agentskills.io or cannot be read.
    """

    revision: int
    version: str = ""
    plugin_version: str = ""
    description: str = ""
    folder: ObjectID = ObjectID(b"")
    places: bytes = b""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marketplace:
    """A repository. `head` is the name of its commit, `revision` the last one of the catalog that it was compared to.

    `kept_until` is a monotonic time, None while no other repository has taken its place.
    """

    head: str
    pack: Pack
    revision: int
    skills: Mapping[str, _Skill]
    kept_until: float | None = None


class Marketplaces:
    """Builds the repositories and keeps those that were requested last, with their packs in files without names.

    A change of the catalog costs what has changed: the objects of other skills are copied.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._kept: LruCache[str, Marketplace] = LruCache(_KEPT)
        self._former: LruCache[str, Marketplace] = LruCache(_KEPT)

    async def current(self, scope: str) -> Marketplace:
        """Return the repository of a scope, or of `ALL`. Raises NOT_FOUND, CONFLICT, SERVICE_UNAVAILABLE."""
        cached = self._kept.get(scope)
        if cached is not None and cached.revision == await quickly(
            self._services.database, self._services.documents.revision
        ):
            return cached
        return await _BUILDER.run(self._refreshed, scope)

    async def pack(self, scope: str, wants: Collection[str]) -> tuple[str, Pack]:
        """Return the name of the commit and the pack of a repository: of the former one, for up to a minute, if wanted.

        Raises as `current`.
        """
        marketplace = await self.current(scope)
        if marketplace.head not in wants:
            marketplace = await _BUILDER.run(self._former_or, marketplace, scope, wants)
        return marketplace.head, marketplace.pack

    def _former_or(self, current: Marketplace, scope: str, wants: Collection[str]) -> Marketplace:
        former = self._former.get(scope)
        if former is None or former.head not in wants or time.monotonic() > (former.kept_until or 0):
            return current
        return current if self._has_withdrawn(former) else former

    def _has_withdrawn(self, former: Marketplace) -> bool:
        """Return whether a repository has a skill that is no longer listed, or a version that was revoked."""
        now = self._services.skill_files.listed_revisions()
        changed = [
            skill_id
            for skill_id, skill in former.skills.items()
            if skill.places and now.get(skill_id) != skill.revision
        ]
        return any(
            skill_id not in now or self._is_revoked(skill_id, former.skills[skill_id].version) for skill_id in changed
        )

    def _is_revoked(self, skill_id: str, version: str) -> bool:
        published = self._services.published
        return published.is_published(skill_id) and published.find(skill_id, version).state == "revoked"

    def _refreshed(self, scope: str) -> Marketplace:
        revision = self._services.documents.revision()  # read first: a change from now on is taken up by the next
        cached = self._kept.get(scope)
        if cached is not None and cached.revision == revision:  # built for the caller who waited before
            return cached
        listed = self._listed(scope)
        if cached is not None and {skill_id: skill.revision for skill_id, skill in cached.skills.items()} == listed:
            marketplace = replace(cached, revision=revision)
        else:
            marketplace = self._built(scope, listed, revision)
            if cached is not None and cached.head != marketplace.head:
                self._former.put(scope, replace(cached, kept_until=time.monotonic() + _FORMER_SECONDS))
        self._kept.put(scope, marketplace)
        return marketplace

    def _listed(self, scope: str) -> dict[str, int]:
        """Return the revisions of the skills of a scope. Raises NOT_FOUND for a scope without skills."""
        listed = self._services.skill_files.listed_revisions()
        if scope != ALL:
            listed = {skill_id: revision for skill_id, revision in listed.items() if skill_id.startswith(f"{scope}/")}
        named = {skill_id: revision for skill_id, revision in listed.items() if name_of(skill_id) is not None}
        if scope != ALL and not named:
            raise not_found(f"Skills of the scope '{scope}'")
        return named

    def _built(self, scope: str, listed: Mapping[str, int], revision: int) -> Marketplace:
        former = self._kept.get(scope) or self._kept.get(ALL)
        with PackWriter(self._services.settings.data_dir) as writer:
            skills = {skill_id: self._skill(writer, skill_id, at, former) for skill_id, at in listed.items()}
            plugin_skills = {skill_id: skill for skill_id, skill in skills.items() if skill.places}
            plugins = _plugins(writer, plugin_skills, installed_ids(self._services.database))
            objects = list(marketplace_objects(self._name(scope), plugins))
            head = commit(objects[-1].id, counted(len(plugin_skills), "skill"))
            writer.add([*objects, head])
            return Marketplace(head.id.decode(), writer.finish(), revision, skills)

    def _name(self, scope: str) -> str:
        name = self._services.settings.protocols.marketplace_name
        return name if scope == ALL else f"{name}-{scope.replace('_', '-')}"

    def _skill(self, writer: PackWriter, skill_id: str, revision: int, former: Marketplace | None) -> _Skill:
        former_skill = former.skills.get(skill_id) if former is not None else None
        if former is not None and former_skill is not None and former_skill.revision == revision:
            return former_skill._replace(places=writer.copy(former.pack, former_skill.places))
        try:
            package = named_package(self._services, skill_id, keep=False)
        except RegistryError as error:
            if error.status == 503:  # the store cannot be read: a marketplace without the skill would be wrong
                raise
            return _Skill(revision)
        objects = list(folder_objects(package.files))
        folder = objects[-1].id
        # Clients update a plugin when its version has changed. A folder may change and keep its version.
        version = package.version if package.fixed else f"{package.version}+{folder[:_HASH_DIGITS].decode()}"
        _, withdrawn = withdrawal_of(self._services, skill_id, None)
        mark = f"[{withdrawn.words}] " if withdrawn else ""
        description = f"{mark}{description_of(package)}"
        needs = tuple(needed.id for needed in named_dependencies(self._services.catalog.get(skill_id).dependencies))
        return _Skill(revision, package.version, version, description, folder, writer.add(objects), needs)


def _plugins(
    writer: PackWriter, skills: Mapping[str, _Skill], installed: Mapping[str, str]
) -> Iterator[tuple[Plugin, ObjectID]]:
    """Write the plugins around the folders of skills, and yield each with the id of its tree.

    A skill may need one that is `installed` here by the id that this has in its registry.
    """
    names = plugin_names(skills)
    for skill_id, name in names.items():
        skill = skills[skill_id]
        needs = (need if need in names else installed.get(need, need) for need in skill.needs)
        needed = tuple(names[need] for need in needs if need in names)
        plugin = Plugin(name, str(name_of(skill_id)), skill.description, skill.plugin_version, skill.folder, needed)
        objects = list(plugin_objects(plugin))
        writer.add(objects)
        yield plugin, objects[-1].id
