"""The settings of a private scope: those of the service, over a data directory of its own."""

from pathlib import Path

from msgspec.structs import replace

from registry.config.groups import (
    BlobsSettings,
    RegistryIndexSettings,
    RegistryMode,
    S3Settings,
    TransparencySettings,
    WebhooksSettings,
)
from registry.config.settings import Settings
from registry.config.types import Url
from registry.domain.api import SCOPES_PATH

FOLDER = "scopes"
"""The folder of the data directory with the data directories of private scopes."""


def scope_folder(settings: Settings, scope: str) -> Path:
    """Return the data directory of a private scope. All that it has is there, but packages in a bucket."""
    return settings.data_dir / FOLDER / scope


def kept_scopes(settings: Settings) -> list[str]:
    """Return the names of the private scopes that have a folder, those that were closed too."""
    folder = settings.data_dir / FOLDER
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def settings_of_scope(settings: Settings, scope: str) -> Settings:
    """Return the settings of a private scope of a service with these settings.

    Nothing of it leaves its folder: no remote index, no webhooks, no witnesses, and no bucket, which may be public,
    but the one for private scopes. Its log has a name and a key of its own. `scope` must be the name of a scope.
    """
    folder = scope_folder(settings, scope)
    public = settings.server.public_url
    path = f"{SCOPES_PATH}/{scope}"
    public_url = f"{public.reveal().rstrip('/') if public else ''}{path}"
    return replace(
        settings,
        skills_dir=folder / "skills",
        data_dir=folder,
        server=replace(settings.server, public_url=Url(public_url)),
        database=replace(settings.database, url=None),
        auth=replace(settings.auth, issuer="closed", anonymous_read=False),
        transparency=TransparencySettings(name=f"{settings.transparency.name}{path}"),
        webhooks=WebhooksSettings(),
        project=replace(settings.project, file=folder / settings.project.file.name),
        embedding=replace(settings.embedding, models_dir=settings.embedding.models_dir or settings.data_dir / "models"),
        s3=_bucket_of_scope(settings, scope),
        blobs=BlobsSettings(dir=folder / "blobs"),
        registry=RegistryMode(enabled=True),
        registry_index=RegistryIndexSettings(url=Url(str(folder / "index.git"))),
        sources=(),
    )


def _bucket_of_scope(settings: Settings, scope: str) -> S3Settings:
    """Return where the packages of a private scope are. One that has some in its folder keeps them there."""
    bucket = settings.s3.private_bucket
    if bucket is None or any((scope_folder(settings, scope) / "blobs").rglob("*.zip")):
        return S3Settings()
    # No public URL: every download passes the door.
    return S3Settings(bucket=f"{bucket}{SCOPES_PATH}/{scope}", region=settings.s3.region, endpoint=settings.s3.endpoint)
