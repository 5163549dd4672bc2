"""The folders with a SKILL.md that are no skills to offer, such as fixtures and templates, counted by their reason."""

from collections.abc import Iterator
from pathlib import PurePath

from registry.domain.file_names import printable_name

_SHOWN = 3

_FIXTURES = "fixtures of tests"
_TEMPLATES = "templates"
_DEPRECATED = "deprecated or archived"
_UNFINISHED = "not finished"
_FOREIGN = "copies of other packages"

_REASONS = {
    **dict.fromkeys(("fixture", "fixtures", "__fixtures__", "test-fixtures", "test_fixtures"), _FIXTURES),
    **dict.fromkeys(("testdata", "test-data", "test_data", "__tests__", "__mocks__", "tests", "test"), _FIXTURES),
    **dict.fromkeys(("template", "templates", "_template", "_templates"), _TEMPLATES),
    **dict.fromkeys(("skill-template", "skill_template", "template-skill", "skill-templates"), _TEMPLATES),
    **dict.fromkeys(("deprecated", "_deprecated", "archive", "archived", "_archive", "_archived"), _DEPRECATED),
    **dict.fromkeys((".archive", "obsolete", "attic"), _DEPRECATED),
    **dict.fromkeys(("in-progress", "in_progress", "wip", "draft", "drafts", "_drafts"), _UNFINISHED),
    **dict.fromkeys(("node_modules", "vendor", "third_party", "third-party", "site-packages"), _FOREIGN),
}
"""Why what is below a folder of this name is no skill to offer."""

_ALSO_SKILLS = frozenset({"test", "tests", "archive", "vendor", "draft", "drafts", "wip", "attic"})
"""Those of the names that a skill of its own may have: they count for folders above a skill only."""


def reason_to_leave_out(place: PurePath) -> str | None:
    """Return why the folder at a path below the root is no skill to offer, None if it is one."""
    *above, name = [part.lower() for part in place.parts] or [""]
    own = [] if name in _ALSO_SKILLS else [name]
    return next((_REASONS[part] for part in (*above, *own) if part in _REASONS), None)


class LeftOut:
    """Counts folders that are left out, by reason."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, None]] = {}

    def add(self, place: str, reason: str) -> None:
        """Count the folder at a path below the root."""
        self._places.setdefault(reason, {})[printable_name(place)] = None

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each reason, with the number and the first places."""
        for reason, places in self._places.items():
            names = ", ".join(name[:100] for name in list(places)[:_SHOWN])
            more = ", …" if len(places) > _SHOWN else ""
            yield f"{len(places)} left out, {reason}: {names}{more}"
