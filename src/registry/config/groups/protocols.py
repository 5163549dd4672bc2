"""The protocols of other programs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

ProtocolName = Literal["ard", "mcp", "tree", "well_known"]


class ProtocolsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which protocols are served besides the specification's routes."""

    enabled: Annotated[
        tuple[ProtocolName, ...],
        Meta(description="protocols that are served for other clients", extra={"flag": "--protocol"}),
    ] = ("ard", "mcp", "tree", "well_known")
    root_skills: Annotated[
        tuple[str, ...],
        Meta(
            description="ids of the skills in the well-known index of the root; old clients install all of them",
            extra={"flag": "--root-skill"},
        ),
    ] = ()
