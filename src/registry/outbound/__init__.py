"""Outgoing requests: the guarded HTTP client, and git under the same rules."""

from registry.domain.addresses import AddressPolicy, Endpoint, OutboundError, parse_url, redact_url
from registry.outbound.client import FetchedResponse, OutboundClient, Validators, basic_authorization

__all__ = [
    "AddressPolicy",
    "Endpoint",
    "FetchedResponse",
    "OutboundClient",
    "OutboundError",
    "Validators",
    "basic_authorization",
    "parse_url",
    "redact_url",
]
