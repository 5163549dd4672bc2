"""The groups of settings. To add a setting, add a field: everything else is derived from it.

The type of a field defines the accepted values. Its `Meta.description` is the description, and its
`Meta.extra["flag"]` the flag, unless the flag is the key with dashes.
"""

from registry.config.groups.access import (
    AuditSettings,
    AuthSettings,
    InstallSettings,
    OutboundSettings,
    SignInSettings,
    TransparencySettings,
)
from registry.config.groups.commands import CacheSettings, ClientSettings, ProjectSettings
from registry.config.groups.limits import LimitsSettings
from registry.config.groups.protocols import ProtocolsSettings
from registry.config.groups.publishing import Hold, PublishSettings
from registry.config.groups.search import EmbeddingSettings, SearchSettings
from registry.config.groups.server import LogSettings, RegistryMode, ServerSettings
from registry.config.groups.storage import BlobsSettings, DatabaseSettings, RegistryIndexSettings, S3Settings
from registry.config.groups.telemetry import TelemetrySettings
from registry.config.groups.webhooks import PassedWebhookSettings, WebhookSettings, WebhooksSettings

__all__ = [
    "AuditSettings",
    "AuthSettings",
    "BlobsSettings",
    "CacheSettings",
    "ClientSettings",
    "DatabaseSettings",
    "EmbeddingSettings",
    "Hold",
    "InstallSettings",
    "LimitsSettings",
    "LogSettings",
    "OutboundSettings",
    "PassedWebhookSettings",
    "ProjectSettings",
    "ProtocolsSettings",
    "PublishSettings",
    "RegistryIndexSettings",
    "RegistryMode",
    "S3Settings",
    "SearchSettings",
    "ServerSettings",
    "SignInSettings",
    "TelemetrySettings",
    "TransparencySettings",
    "WebhookSettings",
    "WebhooksSettings",
]
