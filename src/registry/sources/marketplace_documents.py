"""Writes marketplace documents, in our flat form and in the plugin form of Claude Code."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from registry.domain.models import Skill
from registry.domain.origins import GitOrigin, GitRef, RegistryOrigin, ZipOrigin
from registry.domain.package_urls import PackageUrls
from registry.domain.source_entry import REGISTRY, Listed, PublishedListed
from registry.sources.schemas import Marketplace, MarketplaceSkill

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_HASH_DIGITS = 8


def built_in_listed(skill: Skill, urls: PackageUrls | None) -> Listed:
    """Return a skill of a built-in source in the form of a listing, a published one with its package.

    `urls` is None if this service serves no packages.
    """
    fields = {name: getattr(skill, name) for name in Listed.__struct_fields__ if hasattr(skill, name)}
    if urls is None or skill.source != REGISTRY or skill.digest is None:  # a record has no digest
        return Listed(**fields)
    return PublishedListed(**fields | {"download_url": urls.of(skill.id, skill.version)}, checksum=skill.digest)


def flat_document(skills: Sequence[Listed]) -> Marketplace:
    """Return skills in the flat form."""
    fields = MarketplaceSkill.__struct_fields__
    return Marketplace(skills=[MarketplaceSkill(**{key: getattr(skill, key) for key in fields}) for skill in skills])


def claude_document(source: str, skills: Sequence[Listed]) -> dict[str, Any]:
    """Return skills in the plugin form, without those whose origin a client cannot fetch."""
    name = _kebab(source)
    counts = Counter(_kebab(skill.id) for skill in skills)
    plugins = [
        {
            "name": _plugin_name(skill.id, is_unique=counts[_kebab(skill.id)] == 1),
            "source": plugin_source,
            "description": skill.description,
            "version": skill.version,
            "strict": False,
            "skills": ["./"],
            **({"author": {"name": skill.author}} if skill.author else {}),
            **({"tags": skill.tags} if skill.tags else {}),
        }
        for skill in skills
        if (plugin_source := _plugin_source(skill))
    ]
    return {"name": name, "owner": {"name": name}, "plugins": plugins}


def _kebab(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-")


def _plugin_name(skill_id: str, *, is_unique: bool) -> str:
    """Return the name of a plugin. If several ids give the same name, none of them gets it.

    Otherwise the scope `acme-a` could pass off its skill `b` as `acme/a-b`.
    """
    name = _kebab(skill_id)
    return name if is_unique else f"{name}-{hashlib.sha256(skill_id.encode()).hexdigest()[:_HASH_DIGITS]}"


def _plugin_source(skill: Listed) -> dict[str, str] | None:
    origin = skill.origin
    if isinstance(skill, PublishedListed):
        return _archive(skill.download_url, skill.checksum.removeprefix("sha256:"))
    if isinstance(origin, ZipOrigin):
        # Claude Code does not support folders of a zip.
        return None if origin.subdir else _archive(origin.url, origin.sha256)
    if isinstance(origin, RegistryOrigin):
        return _archive(skill.download_url)
    if not isinstance(origin, GitOrigin):
        return None
    location = {"source": "git-subdir", "path": origin.subdir} if origin.subdir else {"source": "url"}
    return {**location, "url": origin.url, **_plugin_ref(origin.ref)}


def _archive(url: str | None, sha256: str | None = None) -> dict[str, str] | None:
    """Return the source of a zip; None without https, which Claude Code requires."""
    if not url or not url.lower().startswith("https://"):
        return None
    return {"source": "archive", "url": url} | ({"sha256": sha256} if sha256 else {})


def _plugin_ref(ref: GitRef | None) -> dict[str, str]:
    if ref is None:
        return {}
    return {"sha": ref.commit} if ref.commit else {"ref": str(ref.branch or ref.tag)}
