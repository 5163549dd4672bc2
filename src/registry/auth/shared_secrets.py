"""The secrets that all replicas on a database must have in common: the one that signs tokens and the log's key.

The database remembers how to tell them, never what they are: of the first an HMAC (it is the key), of the second its
public half. A replica that has others would refuse its siblings' tokens and sign the log in another name.
"""

import hashlib
import hmac

from registry.config.settings import Settings
from registry.db import Database, Transaction

AUTH_FACT = "auth_secret"
LOG_FACT = "log_key"
_KNOWN = "select name, value from facts where name in (?, ?)"


class OtherSecrets(Exception):
    """This replica's secrets are not those of the others; the message says what to configure."""


def check_secrets(database: Database, settings: Settings, signing: list[bytes], verifier_key: str) -> None:
    """Compare this replica's secrets with those that are remembered, or have them remembered. Raises OtherSecrets.

    Args:
        database: What the replicas share.
        settings: Say whether anything may be written.
        signing: The secret that signs tokens, and the one before where it still counts.
        verifier_key: The public half of the log's key.
    """
    marks = [fingerprint(secret) for secret in signing]
    known: dict[str, str] = dict(database.read(_KNOWN, (AUTH_FACT, LOG_FACT)))
    _compare(known, marks, verifier_key)
    if known.get(AUTH_FACT) == marks[0] or settings.server.read_only:
        return
    with database.write() as transaction:  # another replica may be starting too
        _compare(dict(transaction.read(_KNOWN, (AUTH_FACT, LOG_FACT))), marks, verifier_key)
        transaction.put_fact(AUTH_FACT, marks[0])


def forget_secrets(transaction: Transaction) -> None:
    """Have the next replica that starts decide which secrets they share."""
    transaction.execute("delete from facts where name in (?, ?)", (AUTH_FACT, LOG_FACT))


def fingerprint(secret: bytes) -> str:
    """Return what tells a secret from others without telling anything of it."""
    return hmac.new(secret, b"skill-registry auth.secret", hashlib.sha256).hexdigest()


def _compare(known: dict[str, str], marks: list[str], verifier_key: str) -> None:
    if known.get(AUTH_FACT, marks[0]) not in marks:
        raise OtherSecrets(
            "auth.secret is not the one that the replicas on this database share: set SKILL_REGISTRY_AUTH_SECRET to "
            "theirs in every replica (to replace it, set the old one as SKILL_REGISTRY_AUTH_PREVIOUS_SECRET; where it "
            "is lost, stop them all and run 'skill-registry forget-secrets')"
        )
    if known.get(LOG_FACT, verifier_key) != verifier_key:
        raise OtherSecrets(
            "the log's key, or transparency.name, is not the one that the replicas on this database share: set "
            "SKILL_REGISTRY_TRANSPARENCY_KEY in every replica to what is in log.key of the first one's data directory "
            "(where it is lost, stop them all and run 'skill-registry forget-secrets')"
        )
