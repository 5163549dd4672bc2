"""Checks that all replicas on a database use the same secrets: the one that signs tokens, and the log's key.

The database holds an HMAC keyed with the signing secret, and the public half of the log's key, never the secrets. A
replica with other secrets would refuse the tokens of the others and sign the log under another identity.
"""

import hashlib
import hmac

from registry.config.settings import Settings
from registry.db import Database, Reader, Transaction, read_fact

AUTH_FACT = "auth_secret"
LOG_FACT = "log_key"


class OtherSecrets(Exception):
    """This replica's secrets differ from those of the others; the message says what to configure."""


def check_secrets(database: Database, settings: Settings, signing: list[bytes], verifier_key: str) -> None:
    """Compare this replica's secrets with the stored ones, or store them if there are none. Raises OtherSecrets.

    Args:
        database: The database the replicas share.
        settings: A read-only replica stores nothing.
        signing: The secret that signs tokens, then the previous one if it is configured.
        verifier_key: The public half of the log's key.
    """
    fingerprints = [fingerprint(secret) for secret in signing]
    stored = _stored(database)
    _compare(stored, fingerprints, verifier_key)
    if stored.get(AUTH_FACT) == fingerprints[0] or settings.server.read_only:
        return
    with database.write() as transaction:  # another replica may be starting too
        _compare(_stored(transaction), fingerprints, verifier_key)
        transaction.put_fact(AUTH_FACT, fingerprints[0])


def forget_secrets(transaction: Transaction) -> None:
    """Remove the stored values; the next replica that starts stores its own."""
    transaction.delete_fact(AUTH_FACT)
    transaction.delete_fact(LOG_FACT)


def _stored(reader: Reader) -> dict[str, str]:
    values = {name: read_fact(reader, name) for name in (AUTH_FACT, LOG_FACT)}
    return {name: value for name, value in values.items() if value is not None}


def fingerprint(secret: bytes) -> str:
    """Return a value that identifies a secret without revealing it."""
    return hmac.new(secret, b"skill-registry auth.secret", hashlib.sha256).hexdigest()


def _compare(stored: dict[str, str], fingerprints: list[str], verifier_key: str) -> None:
    if stored.get(AUTH_FACT, fingerprints[0]) not in fingerprints:
        raise OtherSecrets(
            "auth.secret differs from that of the other replicas on this database: set SKILL_REGISTRY_AUTH_SECRET to "
            "the same value in every replica (to replace it, set the old value as "
            "SKILL_REGISTRY_AUTH_PREVIOUS_SECRET; if it is lost, stop all replicas and run "
            "'skill-registry admin forget-secrets')"
        )
    if stored.get(LOG_FACT, verifier_key) != verifier_key:
        raise OtherSecrets(
            "the log's key or transparency.name differs from that of the other replicas on this database: set "
            "SKILL_REGISTRY_TRANSPARENCY_KEY in every replica to the content of log.key in the data directory of the "
            "first one (if it is lost, stop all replicas and run 'skill-registry admin forget-secrets')"
        )
