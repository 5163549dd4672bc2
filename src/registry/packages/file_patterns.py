"""Files that authors seldom mean to publish, by their names."""

from fnmatch import fnmatchcase

_JUNK = """.hg .svn .bzr .skill-registry .ds_store ._* .spotlight-v100 .trashes __macosx thumbs.db ehthumbs.db
    desktop.ini node_modules __pycache__ *.pyc *.pyo .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox
    .coverage .ipynb_checkpoints .idea *.swp *.swo *~ .#* #*#"""
"""Names of files and folders, in lower case, that version control, systems, languages and editors leave behind."""

_OF_SECRETS = """.env .env.* .envrc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.ppk *.p12 *.pfx *.jks
    *.keystore *.kdbx .netrc _netrc .npmrc .pypirc .pgpass .git-credentials"""
_WITHOUT_SECRETS = """.env.example .env.*.example .env.sample .env.*.sample .env.template .env.*.template"""


def is_junk(name: str) -> bool:
    """Return whether a file or folder of this name is left behind by a tool, and is part of no skill."""
    return _matches(name, _JUNK)


def is_secret(path: str) -> bool:
    """Return whether a file with this path usually holds keys or passwords."""
    name = path.rpartition("/")[2]
    return _matches(name, _OF_SECRETS) and not _matches(name, _WITHOUT_SECRETS)


def _matches(name: str, patterns: str) -> bool:
    name = name.lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())
