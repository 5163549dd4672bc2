"""The skills extension: skills with their files as resources, `skill://{id}/{path}`."""

import base64
import mimetypes
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from registry.errors import RegistryError
from registry.protocols.agentskills import front_matter, named_package
from registry.protocols.mcp.messages import INVALID_PARAMS, McpError
from registry.protocols.mcp.reading import risk_warning, withdrawal_warning
from registry.services.container import Services
from registry.services.names import name_of
from registry.services.skill_files import PackagedFile, SkillPackage
from registry.skill_folder.tree import SKILL_FILE

_SCHEME = "skill://"
_PAGE = 50
_PAGE_BYTES = 32 << 20
"""A page ends early after skills of so many bytes, because all of them are read for it."""

_MAX_FILES = 512
_MAX_BYTES = 16 << 20


def list_skill_entries(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the skills with their front matter and the digests of their files."""
    entries, cursor = _page(services, params, lambda package: [_entry(package)])
    return {"skills": entries, **cursor}


def get_skill_entry(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return one skill by the address of its SKILL.md. Raises McpError."""
    uri = _uri(params)
    package, file = _found(services, uri)
    if file.path != SKILL_FILE:
        raise _unknown(uri)
    return {"skill": _entry(package)}


def list_resources(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return the files of a page of the skills."""
    resources, cursor = _page(services, params, _resources)
    return {"resources": resources, **cursor}


def read_resource(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return a file: text if it is UTF-8, else base64. Raises McpError.

    The file of a risky skill is followed by a warning. It has its own address, since the list has a digest of the file.
    """
    uri = _uri(params)
    package, file = _found(services, uri)
    contents: dict[str, Any] = {"uri": uri, "mimeType": _media_type(file)}
    try:
        contents["text"] = file.data.decode("utf-8")
    except UnicodeDecodeError:
        contents["blob"] = base64.b64encode(file.data).decode()
    skill = services.catalog.get(package.skill_id)
    withdrawn, risk = withdrawal_warning(skill.version, skill.withdrawn).strip(), risk_warning(skill.findings).strip()
    first = [_note(f"{uri}#withdrawn", withdrawn)] if withdrawn else []
    return {"contents": [*first, contents, *([_note(f"{uri}#risk", risk)] if risk else [])]}


def _note(uri: str, text: str) -> dict[str, str]:
    return {"uri": uri, "mimeType": "text/plain", "text": text}


def _page(
    services: Services, params: dict[str, Any], make: Callable[[SkillPackage], list[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return what is made of the packages of a page, one after the other, and the cursor to the next page.

    Raises McpError for an unknown cursor.
    """
    ids = [skill_id for skill_id in services.skill_files.listed_ids() if name_of(skill_id)]
    end, left = _start(ids, params.get("cursor")), _PAGE_BYTES
    entries: list[dict[str, Any]] = []
    for skill_id in ids[end : end + _PAGE]:
        package = _read(services, skill_id)
        end += 1
        if package is not None:
            entries += make(package) if _may_be_shown(package) else []
            left -= _size(package)
        if left <= 0:
            break
    return entries, {"nextCursor": ids[end - 1]} if end < len(ids) else {}


def _start(ids: list[str], after: object) -> int:
    """Return where the page behind a skill begins. Raises McpError for an unknown one."""
    if after is None:
        return 0
    if after not in ids:
        raise McpError(INVALID_PARAMS, "params.cursor must be the nextCursor of the response before")
    return ids.index(str(after)) + 1


def _package(services: Services, skill_id: str) -> SkillPackage | None:
    """Return the package of a skill, None if it may not be shown or cannot be read now."""
    package = _read(services, skill_id)
    return package if package is not None and _may_be_shown(package) else None


def _read(services: Services, skill_id: str) -> SkillPackage | None:
    try:
        return named_package(services, skill_id)
    except RegistryError:
        return None


def _may_be_shown(package: SkillPackage) -> bool:
    return len(package.files) <= _MAX_FILES and _size(package) <= _MAX_BYTES


def _size(package: SkillPackage) -> int:
    return sum(len(file.data) for file in package.files.values())


def _uri(params: dict[str, Any]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise McpError(INVALID_PARAMS, "params.uri must be a text")
    return uri


def _found(services: Services, uri: str) -> tuple[SkillPackage, PackagedFile]:
    """Return the file at an address, written as in the list. The longest id that exists is that of the skill."""
    first, second, *_ = [*uri.removeprefix(_SCHEME).split("/"), "", ""]
    for skill_id in (f"{first}/{second}", first):
        package = _package(services, skill_id) if uri.startswith(_SCHEME) else None
        if package is not None:
            for file in package.files.values():
                if _address(skill_id, file.path) == uri:
                    return package, file
    raise _unknown(uri)


def _unknown(uri: str) -> McpError:
    return McpError(INVALID_PARAMS, f"Unknown resource: {uri[:500]}", {"uri": uri[:500]})


def _address(skill_id: str, path: str) -> str:
    return f"{_SCHEME}{skill_id}/{quote(path)}"


def _entry(package: SkillPackage) -> dict[str, Any]:
    resources = [
        {"uri": _address(package.skill_id, file.path), "digest": f"sha256:{file.sha256}", "size": len(file.data)}
        for file in package.files.values()
    ]
    uri = _address(package.skill_id, SKILL_FILE)
    return {"uri": uri, "frontmatter": front_matter(package), "resources": resources}


def _resources(package: SkillPackage) -> list[dict[str, Any]]:
    return [_resource(package, file) for file in package.files.values()]


def _resource(package: SkillPackage, file: PackagedFile) -> dict[str, Any]:
    named: dict[str, Any] = {"name": file.path}
    if file.path == SKILL_FILE:
        fields = front_matter(package)
        named = {"name": fields["name"], "description": str(fields.get("description", ""))}
    return {
        "uri": _address(package.skill_id, file.path),
        **named,
        "mimeType": _media_type(file),
        "size": len(file.data),
    }


def _media_type(file: PackagedFile) -> str:
    if file.path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(file.path)[0] or "application/octet-stream"
