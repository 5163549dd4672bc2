"""The use case of an upload: files become a published version, or a folder in the local profile."""

import tempfile
from collections.abc import Sequence
from typing import BinaryIO

from registry.domain.models import Skill
from registry.domain.roles import Principal
from registry.errors import FieldError, conflict, validation_error
from registry.packages.expected import ANY_PACKAGE, Expected
from registry.packages.limits import PackageLimits
from registry.packages.packing import FilePart, pack_parts
from registry.packages.refusal import PackageRefused
from registry.publish.jobs import Job
from registry.publish.submission import UploadReceiver
from registry.services.container import Services

_CHUNK_BYTES = 64 * 1024
_ZIP = b"PK\3\4"


def check_upload(services: Services, skill_id: str | None) -> None:
    """Refuse an upload that this service cannot keep, of a version of `skill_id` if that is given.

    Raises CONFLICT, SKILL_NOT_FOUND.
    """
    settings = services.settings
    if not settings.registry.enabled and settings.profile == "registry":
        raise conflict("This service does not publish, and its skills have no files: send JSON to create a record")
    if skill_id is None:
        return
    if not services.is_published(skill_id):
        services.catalog.get(skill_id)
        raise conflict(f"Skill '{skill_id}' was not published: only a published skill takes a package as a new version")


def take_upload(
    services: Services,
    source: BinaryIO,
    parts: Sequence[FilePart],
    caller: Principal | None,
    expected: Expected = ANY_PACKAGE,
) -> Job | Skill:
    """Submit the parts of `source` for publication and return the job, or make a skill of them in the local profile.

    One part may be a zip. Raises VALIDATION_ERROR with every reason to refuse them, also if they are not what is
    `expected`; FORBIDDEN, CONFLICT.
    """
    publishes = services.settings.registry.enabled
    receiver = services.publishing.receive() if publishes else UploadReceiver(services.local.root)
    try:
        limits = PackageLimits(archive_bytes=services.settings.limits.upload_bytes)
        with tempfile.TemporaryFile(dir=services.settings.data_dir) as package:
            _receive(source, parts, package, receiver, limits)
        upload = receiver.finish()
        if publishes and caller is not None:
            return services.publishing.submit(upload, caller, None, expected)
        return services.installer.create(upload.path, expected)
    finally:
        receiver.discard()


def _receive(
    source: BinaryIO, parts: Sequence[FilePart], package: BinaryIO, receiver: UploadReceiver, limits: PackageLimits
) -> None:
    if not parts:
        raise validation_error(FieldError("files", "are required: the files of a skill, or one zip"))
    source.seek(0)
    if len(parts) == 1 and source.read(len(_ZIP)) == _ZIP:
        _copy(source, receiver)
        return
    try:
        pack_parts(source, parts, package, limits)
    except PackageRefused as refused:
        raise validation_error(
            *(FieldError(finding.file or "files", finding.message) for finding in refused.findings)
        ) from None
    _copy(package, receiver)


def _copy(package: BinaryIO, receiver: UploadReceiver) -> None:
    package.seek(0)
    while chunk := package.read(_CHUNK_BYTES):
        receiver.write(chunk)
