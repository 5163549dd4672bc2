"""The commands: their access to a server and their project."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from registry.config.types import Secret, ServerUrl


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The access of commands to a server."""

    server: Annotated[
        ServerUrl | None,
        Meta(
            description="registry of commands without --server (or SKILL_REGISTRY_SERVER); the owner of client.api_key",
            extra={"flag": None},
        ),
    ] = None
    api_key: Annotated[
        Secret | None,
        Meta(description="API key or token for client.server; without that, for the server that --server names"),
    ] = None
    feedback: Annotated[
        bool,
        Meta(
            description="tell a server which result of your last search there you install, so that it ranks better",
            extra={"flag": None},
        ),
    ] = True


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of the project that uses the skills."""

    file: Annotated[
        Path, Meta(description="manifest of the project; skills.lock and .cursor/ are in the same folder")
    ] = Path("skill-project.toml")
