"""HTTP Basic (RFC 7617) for programs that can send nothing else, such as git: the password is the credential."""

import base64
import binascii

BASIC_CHALLENGE = 'Basic realm="Skill Registry", charset="UTF-8"'
"""The header `WWW-Authenticate` that has git ask its user for a credential."""

_SCHEME = b"basic "
_KEY_PREFIX = b"sk_"


def with_password_as_credential(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers in which a token or an API key that is a Basic password is sent as what it is.

    The user name does not matter. What is not valid Basic stays, and is refused as a malformed credential.
    """
    return [_credential(value) if name == b"authorization" else (name, value) for name, value in headers]


def _credential(value: bytes) -> tuple[bytes, bytes]:
    if value[: len(_SCHEME)].lower() == _SCHEME:
        try:
            _, separator, password = base64.b64decode(value[len(_SCHEME) :], validate=True).partition(b":")
        except binascii.Error:
            separator = b""
        if separator:
            is_key = password.startswith(_KEY_PREFIX)
            return (b"x-api-key", password) if is_key else (b"authorization", b"Bearer " + password)
    return b"authorization", value
