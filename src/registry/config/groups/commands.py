"""The commands: their access to a server and their project."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from registry.config.types import Secret


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The access of commands to a server."""

    api_key: Annotated[Secret | None, Meta(description="API key or token that commands send to a server")] = None


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of the project that uses the skills."""

    file: Annotated[
        Path, Meta(description="manifest of the project; skills.lock and .cursor/ are in the same folder")
    ] = Path("skill-project.toml")
