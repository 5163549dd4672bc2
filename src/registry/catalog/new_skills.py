"""New skills that are checked, written and scanned, but not in the catalog yet."""

from collections.abc import Callable

from registry.domain.models import Skill
from registry.errors import RegistryError


class NewSkills:
    """Skills to store in one transaction, at any time after their preparation, which takes longer.

    `store` writes them into the catalog, and `discard` removes what is left of the preparation.
    """

    def __init__(
        self, store: Callable[[], list[Skill | RegistryError]], discard: Callable[[], None] = lambda: None
    ) -> None:
        self._store = store
        self.discard = discard

    def store(self) -> list[Skill | RegistryError]:
        """Store the skills, and return each, or why it was refused: VALIDATION_ERROR or CONFLICT."""
        try:
            return self._store()
        finally:
            self.discard()
