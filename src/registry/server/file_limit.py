"""The limit of open files, which also limits connections."""

import logging
import resource

_log = logging.getLogger("registry.server")

_WANTED_FILES = 65_536

_OTHER_FILES = 256
"""Files that the service opens besides connections: databases, indexes, pipes of its processes, requests to others."""

_FEWEST_CONNECTIONS = 16


def possible_connections(wanted: int) -> int:
    """Raise the soft limit of open files as far as the hard limit allows, and return how many connections fit.

    Args:
        wanted: The connections that the settings allow.
    """
    possible = _raised_limit() - _OTHER_FILES
    if possible >= wanted:
        return wanted
    possible = max(_FEWEST_CONNECTIONS, possible)
    _log.warning(
        "the limit of open files allows %d connections at a time instead of limits.connections = %d; ulimit -Hn has it",
        possible,
        wanted,
    )
    return possible


def _raised_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        except (OSError, ValueError):  # macOS has a lower limit that it does not show
            return soft
        return files
    return _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
