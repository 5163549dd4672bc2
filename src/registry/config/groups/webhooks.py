"""The webhooks for the results of checks, for reviews, and for withdrawals."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from registry.config.types import HttpUrl, Secret

WebhookEvent = Literal[
    "structure_error",
    "security_issue",
    "quality_warning",
    "all_checks_passed",
    "yank",
    "unyank",
    "revoke",
    "deprecate",
    "undeprecate",
    "held",
    "approved",
    "rejected",
]


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The webhook for packages that failed their checks."""

    url: Annotated[HttpUrl | None, Meta(description="URL that receives failed checks")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="events that are sent")] = (
        "structure_error",
        "security_issue",
    )
    secret: Annotated[Secret | None, Meta(description="secret that signs the notifications")] = None


class PassedWebhookSettings(WebhookSettings, frozen=True, kw_only=True):
    """The webhook for packages that passed their checks."""

    url: Annotated[HttpUrl | None, Meta(description="URL that receives passed checks")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="events that are sent")] = ("all_checks_passed",)
    secret: Annotated[Secret | None, Meta(description="secret that signs the notifications")] = None


class WithdrawnWebhookSettings(WebhookSettings, frozen=True, kw_only=True):
    """The webhook for versions and skills that were withdrawn or restored."""

    url: Annotated[HttpUrl | None, Meta(description="URL that receives withdrawals")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="events that are sent")] = (
        "yank",
        "unyank",
        "revoke",
        "deprecate",
        "undeprecate",
    )
    secret: Annotated[Secret | None, Meta(description="secret that signs the notifications")] = None


class ReviewWebhookSettings(WebhookSettings, frozen=True, kw_only=True):
    """The webhook for packages that wait for a review, and for the decisions."""

    url: Annotated[HttpUrl | None, Meta(description="URL that receives reviews")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="events that are sent")] = (
        "held",
        "approved",
        "rejected",
    )
    secret: Annotated[Secret | None, Meta(description="secret that signs the notifications")] = None


class WebhooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The webhooks for the results of checks of published and installed packages, reviews and withdrawals."""

    validation_failed: WebhookSettings = WebhookSettings()
    validation_passed: PassedWebhookSettings = PassedWebhookSettings()
    withdrawn: WithdrawnWebhookSettings = WithdrawnWebhookSettings()
    reviews: ReviewWebhookSettings = ReviewWebhookSettings()
