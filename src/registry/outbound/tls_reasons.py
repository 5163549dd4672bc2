"""Says in words why TLS with another program fails, instead of in those of OpenSSL."""

import ssl
from collections.abc import Mapping
from types import MappingProxyType

_CLOCK = "or the clock of this machine is wrong"
_UNTRUSTED = "its certificate is of an authority that is not trusted here: outbound.ca_file names others"
_OTHER_NAME = "its certificate is for another name"

_CERTIFICATE: Mapping[int, str] = MappingProxyType(
    {
        9: f"its certificate is not valid yet, {_CLOCK}",
        10: f"its certificate has expired, {_CLOCK}",
        18: _UNTRUSTED,
        19: _UNTRUSTED,
        20: _UNTRUSTED,
        21: _UNTRUSTED,
        62: _OTHER_NAME,
        64: _OTHER_NAME,
    }
)
"""By the codes of OpenSSL (`X509_V_ERR_…`)."""

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})


def tls_reason(error: BaseException) -> str | None:
    """Return why TLS has failed if that is what an error comes from, else None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _CERTIFICATE.get(cause.verify_code, f"its certificate is refused: {cause.verify_message}")
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return "it does not speak https at this port: try http"
        cause = cause.__cause__ or cause.__context__
    return None
