"""What is published at once, what a person has to review first, and how much a scope may publish."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Hold = Literal["off", "high", "medium", "all"]


class PublishSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The review of packages before they are published, and the limit of a scope."""

    hold: Annotated[
        Hold,
        Meta(
            description="packages that wait for a review: of high risk, of medium risk and more, or all (registry mode)"
        ),
    ] = "off"
    scope_bytes: Annotated[
        int,
        Meta(ge=0, description="size of all packages of one scope, in bytes; 0 for no limit (registry mode)"),
    ] = 0
