"""Notices that a service which issues tokens to callers on loopback is behind a proxy, and asks for `auth.issuer`."""

import logging
import threading
import time

_log = logging.getLogger("registry.auth")

_WARN_SECONDS = 3600.0

_NOTICE = (
    "set auth.issuer = closed: requests come through a proxy, and programs on this machine get tokens without a "
    "credential (the last such request: %s)"
)


class ProxyNotice:
    """What an administrator is told of proxied requests. Logged at the first one, then at most once an hour."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_warning = 0.0
        self._text: str | None = None

    def notices(self) -> dict[str, str]:
        """Return what to do about it, by setting; nothing if no request came through a proxy."""
        return {} if self._text is None else {"auth.issuer": self._text}

    def noticed(self, reason: str) -> None:
        """Record a request that may come through a proxy."""
        self._text = _NOTICE % reason
        with self._lock:
            now = time.monotonic()
            is_due = now >= self._next_warning
            if is_due:
                self._next_warning = now + _WARN_SECONDS
        if is_due:
            _log.warning(_NOTICE, reason)
