"""What a service is made of, begun part by part: one that fails keeps no other from beginning, and is tried again."""

import logging
from collections.abc import Callable, Sequence

from registry.runtime.backoff import Backoff

_log = logging.getLogger("registry")


class Part:
    """One part of the service. `begin` may raise, and is called again then; `end` also ends what began only in part."""

    def __init__(self, name: str, begin: Callable[[], None], end: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.begin = begin
        self.end = end
        self.has_begun = False
        self.again = Backoff()


class Starting:
    """Begins and ends parts, in their order. For one thread at a time, but for `problems`."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def begin(self) -> bool:
        """Begin what has not begun yet and is due to be tried; return whether all has begun."""
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
        """End every part; all may begin again."""
        for part in self._parts:
            part.has_begun = False
            part.again.succeeded()
            part.end()

    def problems(self) -> dict[str, str]:
        """Return why parts could not begin, by their names."""
        return {part.name: part.again.problem for part in self._parts if part.again.problem}
