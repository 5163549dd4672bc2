"""One skill of the ClawHub protocol: what it is, its versions, its files, and how to install it."""

from typing import Any, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath

from registry.errors import not_found
from registry.http.links import base_url
from registry.http.routes.parameters import ReadyServices
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.protocols.clawhub.errors import PREFIX, SLUG_ERRORS
from registry.protocols.clawhub.finding import TAGS
from registry.protocols.clawhub.fingerprints import matching_version
from registry.protocols.clawhub.parameters import (
    FilePath,
    Hash,
    Most,
    OwnerHandle,
    Slug,
    Tag,
    VersionNumber,
    at_most,
    number_of,
)
from registry.protocols.clawhub.references import find_id, owner_of, slug_of
from registry.protocols.clawhub.shapes import (
    SkillDetail,
    VersionDetail,
    VersionEntry,
    VersionList,
    listed,
    milliseconds,
    skill_detail,
    those_left,
    version_detail,
    version_facts,
)
from registry.protocols.clawhub.trust import Moderation, moderation
from registry.protocols.file_responses import ZIP, file_response, zip_response
from registry.services.container import Services
from registry.services.skill_files import SkillPackage


class VersionName(msgspec.Struct, kw_only=True):
    """The number of a version."""

    version: str


class Resolution(msgspec.Struct, kw_only=True, rename="camel"):
    """Which version the files of a client are, and the latest one."""

    match: VersionName | None
    latest_version: VersionName | None


class ModerationAnswer(msgspec.Struct, kw_only=True):
    """What the rules say about a skill."""

    moderation: Moderation


class Archive(msgspec.Struct, kw_only=True, rename="camel"):
    """The zip of a version."""

    version: str
    download_url: str


class Installation(msgspec.Struct, kw_only=True, rename="camel"):
    """How to install a skill."""

    ok: Literal[True] = True
    slug: str
    install_kind: Literal["archive"] = "archive"
    archive: Archive


@get("/clawhub/api/v1/skills/{slug:str}", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={409})
async def get_clawhub_skill(
    request: Request[Any, Any, Any], services: ReadyServices, slug: FromPath[str], owner: OwnerHandle = ""
) -> SkillDetail:
    """Return a skill with its latest version and what the rules say about it."""
    return await ORDINARY_POOL.run(
        lambda: skill_detail(services, listed(services, find_id(request, services, slug, owner)))
    )


@get("/clawhub/api/v1/skills/{slug:str}/moderation", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={409})
async def get_clawhub_moderation(
    request: Request[Any, Any, Any], services: ReadyServices, slug: FromPath[str], owner: OwnerHandle = ""
) -> ModerationAnswer:
    """Return what the rules say about a skill."""
    skill = await ORDINARY_POOL.run(lambda: listed(services, find_id(request, services, slug, owner)))
    return ModerationAnswer(moderation=moderation(skill.findings))


@get("/clawhub/api/v1/skills/{slug:str}/versions", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={409})
async def list_clawhub_versions(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    owner: OwnerHandle = "",
    limit: Most = 25,
) -> VersionList:
    """List the versions of a skill, the highest first."""
    return await ORDINARY_POOL.run(lambda: _versions(services, find_id(request, services, slug, owner), at_most(limit)))


def _versions(services: Services, skill_id: str, limit: int) -> VersionList:
    listed(services, skill_id)
    items, _ = services.catalog.versions(skill_id, limit, 0)
    versions = those_left(lambda item: services.catalog.version(skill_id, item.version), items)
    entries = [
        VersionEntry(
            version=entry.version, created_at=milliseconds(entry.created_at), changelog="\n".join(entry.changes)
        )
        for entry in versions
    ]
    return VersionList(items=entries, next_cursor=None)


@get(
    "/clawhub/api/v1/skills/{slug:str}/versions/{version:str}",
    tags=TAGS,
    responses=SLUG_ERRORS,
    role="user",
    fails={409},
)
async def get_clawhub_version(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    version: FromPath[str],
    owner: OwnerHandle = "",
) -> VersionDetail:
    """Return a version with its files. A yanked one is served, a revoked one is not."""

    def detail() -> VersionDetail:
        skill_id = find_id(request, services, slug, owner)
        facts = version_facts(services, skill_id, version)
        return version_detail(facts, services.skill_files.get(skill_id, version))

    return await PACKAGE_POOL.run(detail)


@get(
    "/clawhub/api/v1/skills/{slug:str}/file",
    tags=TAGS,
    responses=SLUG_ERRORS,
    role="user",
    media_type="*/*",
    fails={409, 429},
)
async def get_clawhub_file(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    path: FilePath,
    owner: OwnerHandle = "",
    version: VersionNumber = "",
    tag: Tag = "",
) -> Response[Any]:
    """Return a file of a version, looked up among the files of the skill."""
    package = await PACKAGE_POOL.run(
        lambda: _package(services, find_id(request, services, slug, owner), number_of(version, tag))
    )
    if path not in package.files:
        raise not_found("File")
    return file_response(request, package.files[path])


@get(
    "/clawhub/api/v1/download",
    tags=TAGS,
    responses=SLUG_ERRORS,
    role="user",
    media_type=ZIP,
    packed=True,
    fails={404, 409, 429},
)
async def download_clawhub_skill(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: Slug,
    owner: OwnerHandle = "",
    version: VersionNumber = "",
    tag: Tag = "",
) -> Response[Any]:
    """Return the files of a version as a zip. A yanked one is served, a revoked one is not."""

    def load() -> SkillPackage:
        package = _package(services, find_id(request, services, slug, owner), number_of(version, tag))
        _ = package.digest  # computed here, in a thread
        return package

    return zip_response(request, await PACKAGE_POOL.run(load))


def _package(services: Services, skill_id: str, number: str | None) -> SkillPackage:
    return services.skill_files.listed(skill_id) if number is None else services.skill_files.get(skill_id, number)


@get("/clawhub/api/v1/resolve", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={404, 409})
async def resolve_clawhub_version(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: Slug,
    fingerprint: Hash,
    owner: OwnerHandle = "",
) -> Resolution:
    """Return which version has files of a fingerprint, if one of the newest 20 has, and the latest version."""

    def resolve() -> Resolution:
        skill = listed(services, find_id(request, services, slug, owner))
        match = matching_version(services, skill.id, fingerprint)
        return Resolution(
            match=None if match is None else VersionName(version=match),
            latest_version=VersionName(version=skill.version),
        )

    return await PACKAGE_POOL.run(resolve)


@get("/clawhub/api/v1/skills/{slug:str}/install", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={409})
async def get_clawhub_installation(
    request: Request[Any, Any, Any], services: ReadyServices, slug: FromPath[str], owner: OwnerHandle = ""
) -> Installation:
    """Return where the zip of the latest version is, for OpenClaw."""
    skill = await ORDINARY_POOL.run(lambda: listed(services, find_id(request, services, slug, owner)))
    named = urlencode({"slug": slug_of(skill.id), "ownerHandle": owner_of(skill.id), "version": skill.version})
    url = f"{base_url(request, services)}{PREFIX}/api/v1/download?{named}"
    return Installation(slug=slug_of(skill.id), archive=Archive(version=skill.version, download_url=url))


READING = [
    get_clawhub_skill,
    get_clawhub_moderation,
    list_clawhub_versions,
    get_clawhub_version,
    get_clawhub_file,
    download_clawhub_skill,
    resolve_clawhub_version,
    get_clawhub_installation,
]
