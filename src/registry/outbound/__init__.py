"""The way out: what is fetched from elsewhere comes through here, or through git under the same rules."""

from registry.outbound.addresses import AddressPolicy, OutboundError, Target, parse_url, shown
from registry.outbound.client import Answer, Outbound, Validators, basic_authorization

__all__ = [
    "AddressPolicy",
    "Answer",
    "Outbound",
    "OutboundError",
    "Target",
    "Validators",
    "basic_authorization",
    "parse_url",
    "shown",
]
