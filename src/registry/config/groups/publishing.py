"""What is published at once, and what a person has to review first."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Hold = Literal["off", "high", "medium", "all"]


class PublishSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The review of packages before they are published."""

    hold: Annotated[
        Hold,
        Meta(
            description="packages that wait for a review: of high risk, of medium risk and more, or all (registry mode)"
        ),
    ] = "off"
