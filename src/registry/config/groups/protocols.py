"""The protocols of other programs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

ProtocolName = Literal["apm", "ard", "clawhub", "git", "mcp", "tree", "well_known"]


class ProtocolsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which protocols are served besides the specification's routes."""

    enabled: Annotated[
        tuple[ProtocolName, ...],
        Meta(description="protocols that are served for other clients", extra={"flag": "--protocol"}),
    ] = ("apm", "ard", "clawhub", "git", "mcp", "tree", "well_known")
    marketplace_name: Annotated[
        str,
        Meta(
            pattern=r"\A(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*\Z",
            title="1 to 64 characters of a-z and 0-9 with single hyphens between them",
            description="name of the marketplace of all skills in the git view; that of a scope ends with the scope",
        ),
    ] = "skill-registry"
    root_skills: Annotated[
        tuple[str, ...],
        Meta(
            description="ids of the skills in the well-known index of the root; old clients install all of them",
            extra={"flag": "--root-skill"},
        ),
    ] = ()
