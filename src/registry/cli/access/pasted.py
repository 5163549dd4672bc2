"""Ids and texts of credentials, as people paste them."""

import re

from registry.cli import command

_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9-]{1,40}")
_SECRET = re.compile(r"(?:srt|sk)_[A-Za-z0-9_-]{1,400}|eyJ[A-Za-z0-9_.=-]{0,8000}")
"""The texts of tokens that users make, of API keys and of sign-ins."""


def pasted_credential(text: str) -> str:
    """Return the id or the text of a token or a key, without `Bearer` and white space around it.

    Exits if it is neither. The text may be a secret all the same, so it is not repeated, and no server gets it.
    """
    bare = _BEARER.sub("", text.strip(), count=1)
    if not (_ID.fullmatch(bare) or is_secret(bare)):
        command.stop("this is neither the id nor the text of a token or a key: copy it once more", command.WRONG_USAGE)
    return bare


def is_secret(credential: str) -> bool:
    """Return whether what `pasted_credential` returns is the text of a token or a key, and not its id."""
    return _SECRET.fullmatch(credential) is not None
