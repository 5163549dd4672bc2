"""The files that tools leave behind. They are no part of a skill, wherever it comes from."""

import re
from functools import lru_cache

_NAMES = """.git .hg .svn .bzr .skill-registry .ds_store .spotlight-v100 .trashes __macosx thumbs.db ehthumbs.db
    desktop.ini node_modules __pycache__ .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .coverage
    .ipynb_checkpoints .idea"""
"""Names of files and folders, in lower case, that version control, systems, languages and editors leave behind."""

_EXACT = frozenset(_NAMES.split())
_ANY_PATTERN = re.compile(r"\._.*|.*\.py[co]|.*\.sw[po]|.*~|\.#.*|#.*#", re.DOTALL)


def is_generated_path(path: str) -> bool:
    """Return whether a file, or a folder whose path ends with `/`, is generated or within a generated folder."""
    return any(is_generated(name) for name in path.rstrip("/").split("/"))


@lru_cache(4096)
def is_generated(name: str) -> bool:
    """Return whether a file or folder of this name (not path) is left behind by a tool, and is part of no skill."""
    name = name.lower()
    return name in _EXACT or _ANY_PATTERN.fullmatch(name) is not None
