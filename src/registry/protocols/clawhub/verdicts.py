"""Verdicts about versions, which ClawHub and OpenClaw ask for before and after they install.

They say what the rules of this registry found and that no scanner ran. A version of high risk, or one that was not
looked at, does not pass.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from registry.errors import RegistryError
from registry.http.links import base_url
from registry.http.routes.parameters import ReadyServices
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.protocols.clawhub.errors import ERRORS, PREFIX, SLUG_ERRORS, AmbiguousSlug, plain_text
from registry.protocols.clawhub.finding import TAGS
from registry.protocols.clawhub.parameters import OwnerHandle, Tag, VersionNumber, number_of
from registry.protocols.clawhub.references import find_id, owner_of, page_url, slug_of
from registry.protocols.clawhub.shapes import VersionFacts, version_facts
from registry.protocols.clawhub.trust import Security, overview, reasons, security
from registry.services.container import Services

Decision = Literal["pass", "fail"]
_Text = Annotated[str, Meta(max_length=200)]


class WantedVersion(msgspec.Struct, kw_only=True, rename="camel"):
    """A version that a verdict is wanted of."""

    slug: _Text
    owner_handle: _Text = ""
    version: _Text


class WantedVerdicts(msgspec.Struct, kw_only=True):
    """The versions that verdicts are wanted of."""

    items: Annotated[list[WantedVersion], Meta(max_length=100)]


class VerdictError(msgspec.Struct, kw_only=True):
    """Why there is no verdict."""

    code: str
    message: str


class Verdict(msgspec.Struct, kw_only=True, rename="camel"):
    """The verdict about a version. Without one, `error` says why."""

    ok: bool
    decision: Decision
    reasons: list[str]
    requested_slug: str
    requested_owner_handle: str
    requested_version: str
    slug: str | None = None
    publisher_handle: str | None = None
    version: str | None = None
    display_name: str | None = None
    created_at: int | None = None
    overview: str
    skill_url: str | None = None
    security_audit_url: str | None = None
    security: Security | None = None
    error: VerdictError | None = None


class Verdicts(msgspec.Struct, kw_only=True):
    """Verdicts in the order of the request."""

    schema: Literal["clawhub.skill.security-verdicts.v1"] = "clawhub.skill.security-verdicts.v1"
    items: list[Verdict]


class Card(msgspec.Struct, kw_only=True):
    """The card of a skill. There is none."""

    available: Literal[False] = False


class Artifact(msgspec.Struct, kw_only=True, rename="camel"):
    """The zip of a version. `sha256` is in hexadecimal."""

    kind: Literal["archive"] = "archive"
    sha256: str
    size: int
    download_url: str


class Provenance(msgspec.Struct, kw_only=True):
    """Where a version comes from."""

    source: Literal["skill-registry"] = "skill-registry"


class Signature(msgspec.Struct, kw_only=True):
    """The signature of a version. The log of this registry proves releases in another way."""

    status: Literal["none"] = "none"


class Verification(msgspec.Struct, kw_only=True, rename="camel"):
    """What is known about a version."""

    schema: Literal["clawhub.skill.verify.v1"] = "clawhub.skill.verify.v1"
    ok: bool
    decision: Decision
    reasons: list[str]
    overview: str
    slug: str
    display_name: str
    page_url: str
    publisher_handle: str
    publisher_display_name: str
    publisher_profile_url: None = None
    version: str
    resolved_from: Literal["latest", "version", "tag"]
    tag: str | None
    created_at: int
    card: Card = msgspec.field(default_factory=Card)
    artifact: Artifact
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    security: Security
    signature: Signature = msgspec.field(default_factory=Signature)


@get("/clawhub/api/v1/skills/{slug:str}/verify", tags=TAGS, responses=SLUG_ERRORS, role="user", fails={409})
async def verify_clawhub_skill(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    owner: OwnerHandle = "",
    version: VersionNumber = "",
    tag: Tag = "",
) -> Verification:
    """Return what the rules say about a version, and the digest of its zip."""
    base = base_url(request, services)

    def verify() -> Verification:
        skill_id = find_id(request, services, slug, owner)
        return _verification(services, base, skill_id, number_of(version, tag), tag or None)

    return await PACKAGE_POOL.run(verify)


def _verification(services: Services, base: str, skill_id: str, number: str | None, tag: str | None) -> Verification:
    facts = version_facts(services, skill_id, number)
    package = services.skill_files.get(skill_id, facts.entry.version)
    named = {"slug": slug_of(skill_id), "ownerHandle": owner_of(skill_id), "version": facts.entry.version}
    artifact = Artifact(
        sha256=package.digest,
        size=len(package.archive),
        download_url=f"{base}{PREFIX}/api/v1/download?{urlencode(named)}",
    )
    outcome = security(facts.findings)
    return Verification(
        ok=outcome.passed,
        decision="pass" if outcome.passed else "fail",
        reasons=reasons(facts.findings),
        overview=overview(facts.findings),
        slug=slug_of(skill_id),
        display_name=facts.title,
        page_url=page_url(base, skill_id),
        publisher_handle=owner_of(skill_id),
        publisher_display_name=owner_of(skill_id),
        version=facts.entry.version,
        resolved_from="version" if number is not None else "tag" if tag else "latest",
        tag=tag,
        created_at=facts.entry.created_at,
        artifact=artifact,
        security=outcome,
    )


@post(
    "/clawhub/api/v1/skills/-/security-verdicts",
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    role="user",
    changes=False,
)
async def list_clawhub_verdicts(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[WantedVerdicts]
) -> Verdicts:
    """Return a verdict about each version, in order."""
    base = base_url(request, services)

    def find(version: WantedVersion) -> str:
        return find_id(request, services, version.slug, version.owner_handle)

    return Verdicts(
        items=await ORDINARY_POOL.run(lambda: [_verdict(services, base, find, version) for version in data.items])
    )


def _verdict(services: Services, base: str, find: Callable[[WantedVersion], str], version: WantedVersion) -> Verdict:
    try:
        skill_id = find(version)
        return _found_verdict(base, skill_id, version, version_facts(services, skill_id, version.version))
    except AmbiguousSlug as ambiguous:
        return _no_verdict(version, "ambiguous_slug", ambiguous.answer.message)
    except RegistryError as error:
        return _no_verdict(version, error.code.lower(), plain_text(error))


def _found_verdict(base: str, skill_id: str, version: WantedVersion, facts: VersionFacts) -> Verdict:
    outcome = security(facts.findings)
    named = urlencode({"ownerHandle": owner_of(skill_id), "version": facts.entry.version})
    return Verdict(
        ok=outcome.passed,
        decision="pass" if outcome.passed else "fail",
        reasons=reasons(facts.findings),
        requested_slug=version.slug,
        requested_owner_handle=version.owner_handle,
        requested_version=version.version,
        slug=slug_of(skill_id),
        publisher_handle=owner_of(skill_id),
        version=facts.entry.version,
        display_name=facts.title,
        created_at=facts.entry.created_at,
        overview=overview(facts.findings),
        skill_url=page_url(base, skill_id),
        security_audit_url=f"{base}{PREFIX}/api/v1/skills/{slug_of(skill_id)}/verify?{named}",
        security=outcome,
    )


def _no_verdict(version: WantedVersion, code: str, message: str) -> Verdict:
    return Verdict(
        ok=False,
        decision="fail",
        reasons=["skill.not_found" if code == "skill_not_found" else code],
        requested_slug=version.slug,
        requested_owner_handle=version.owner_handle,
        requested_version=version.version,
        overview=message,
        error=VerdictError(code=code, message=message),
    )


VERDICTS = [verify_clawhub_skill, list_clawhub_verdicts]
