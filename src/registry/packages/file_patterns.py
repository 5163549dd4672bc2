"""Files with secrets, by their names: authors seldom mean to publish them."""

from fnmatch import fnmatchcase

_OF_SECRETS = """.env .env.* .envrc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.ppk *.p12 *.pfx *.jks
    *.keystore *.kdbx .netrc _netrc .npmrc .pypirc .pgpass .git-credentials"""
_WITHOUT_SECRETS = """.env.example .env.*.example .env.sample .env.*.sample .env.template .env.*.template"""


def is_secret(path: str) -> bool:
    """Return whether a file with this path usually holds keys or passwords."""
    name = path.rpartition("/")[2]
    return _matches(name, _OF_SECRETS) and not _matches(name, _WITHOUT_SECRETS)


def _matches(name: str, patterns: str) -> bool:
    name = name.lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())
