"""Outgoing requests: the guarded HTTP client, and git under the same rules."""

from registry.domain.addresses import AddressPolicy, Endpoint, OutboundError, StatusError, parse_url, redact_url
from registry.outbound.client import Authorities, FetchedResponse, OutboundClient, Validators, basic_authorization
from registry.outbound.credential import Credential
from registry.outbound.interruption import Interruption, interruptible

__all__ = [
    "AddressPolicy",
    "Authorities",
    "Credential",
    "Endpoint",
    "FetchedResponse",
    "Interruption",
    "OutboundClient",
    "OutboundError",
    "StatusError",
    "Validators",
    "basic_authorization",
    "interruptible",
    "parse_url",
    "redact_url",
]
