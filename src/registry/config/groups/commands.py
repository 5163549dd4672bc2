"""The commands: their access to a server and their project."""

from pathlib import Path
from typing import Annotated, Literal

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
    login_store: Annotated[
        Literal["auto", "keyring", "file"],
        Meta(
            description="where login keeps its token: keyring (of the system; needs the extra keyring), file (only "
            "you can read it), or auto: the keyring if there is one, else the file",
            extra={"flag": None},
        ),
    ] = "auto"
    keyring_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="seconds for an answer of the keyring, which may ask to be unlocked",
            extra={"flag": None},
        ),
    ] = 30.0
    feedback: Annotated[
        bool,
        Meta(
            description="tell a server which result of your last search there you install, so that it ranks better",
            extra={"flag": None},
        ),
    ] = True

    answer_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=86_400,
            description="seconds for a whole answer of a server; 20 times as many where it waits for others",
            extra={"flag": None},
        ),
    ] = 30.0
    answer_bytes: Annotated[
        int,
        Meta(ge=1, le=1 << 40, description="size limit of an answer of a server", extra={"flag": None}),
    ] = 64 << 20


class CacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of packages that the local profile has fetched."""

    dir: Annotated[
        Path | None,
        Meta(
            description="folder of fetched packages, which `install` takes again without the network; default: "
            "skill-registry in XDG_CACHE_HOME, else in ~/.cache; without a home folder none"
        ),
    ] = None
    bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 50,
            description="size limit of the cache of packages; the least recently used ones go first; 0 turns it off",
        ),
    ] = 1 << 30


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of the project that uses the skills."""

    file: Annotated[
        Path, Meta(description="manifest of the project; skills.lock and .cursor/ are in the same folder")
    ] = Path("skill-project.toml")
