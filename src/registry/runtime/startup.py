"""Starts the parts of a service one by one. A part that fails does not stop the others, and is retried."""

import logging
from collections.abc import Callable, Sequence

from search.backoff import Backoff

_log = logging.getLogger("registry.runtime")


class Part:
    """One part of the service. `begin` is retried if it raises. `end` also stops a part that started incompletely."""

    def __init__(self, name: str, begin: Callable[[], None], end: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.begin = begin
        self.end = end
        self.has_begun = False
        self.again = Backoff()


class Startup:
    """Starts and stops parts in order. Only `problems` may be called from several threads at once."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def begin(self) -> bool:
        """Start the parts that have not started and are due. Return whether all have started."""
        for part in self._parts:
            if not part.has_begun and part.again.is_due():
                self._begin(part)
        return all(part.has_begun for part in self._parts)

    def _begin(self, part: Part) -> None:
        try:
            part.begin()
        except Exception as error:
            part.again.failed(f"it cannot start ({type(error).__name__}); it is tried again, and the log says more")
            _log.exception("%s cannot start; it is tried again", part.name)
        else:
            part.again.succeeded()
            part.has_begun = True

    def end(self) -> None:
        """Stop every part. All may start again."""
        for part in self._parts:
            part.has_begun = False
            part.again.succeeded()
            part.end()

    def problems(self) -> dict[str, str]:
        """Return the parts that could not start, with the reason."""
        return {part.name: part.again.problem for part in self._parts if part.again.problem}
