"""The names that the format of agentskills.io allows, and how many skills protocols leave out that demand them."""

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from registry.catalog.documents import CatalogDocuments
from registry.errors import RegistryError
from registry.parsing.frontmatter import read
from registry.services.schemas import LeftOut, LeftOutReason
from registry.services.skill_backends import SkillBackends
from registry.services.skill_files import SkillFiles

READ_AT_ONCE = 2_000
"""The skills whose `SKILL.md` one count reads: below a second of processor time."""

_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")

_LOG = logging.getLogger(__name__)


def name_of(skill_id: str) -> str | None:
    """Return the name of a skill, which is the last part of its id, None if it is not one of agentskills.io."""
    name = skill_id.rpartition("/")[2]
    return name if _NAME.fullmatch(name) else None


class _Checked(NamedTuple):
    """What was found of a skill at the revision of its last change. Without a reason it is not left out."""

    revision: int
    reason: LeftOutReason | None


class SkillNames:
    """Counts the skills that protocols leave out. The count is kept until the catalog changes.

    A change costs a list of the catalog and the `SKILL.md` of what has changed. A count reads at most `read_at_once`
    of them, so a large catalog takes several counts.
    """

    def __init__(
        self,
        documents: CatalogDocuments,
        skill_files: SkillFiles,
        skill_backends: SkillBackends,
        read_at_once: int = READ_AT_ONCE,
    ) -> None:
        self._documents = documents
        self._skill_files = skill_files
        self._skill_backends = skill_backends
        self._read_at_once = read_at_once
        self._lock = threading.Lock()
        self._checked: dict[str, _Checked] = {}
        self._counted: tuple[int, LeftOut] | None = None

    def left_out(self) -> LeftOut:
        """Return the count as of the latest change of the catalog."""
        with self._lock:
            revision = self._documents.revision()  # read first: the next count takes up a change from now on
            if self._counted is None or self._counted[0] != revision or self._counted[1].unchecked:
                try:
                    self._counted = revision, self._count()
                except Exception as error:  # a damaged row must not take the status with it
                    _LOG.warning("the names that protocols leave out cannot be counted", exc_info=error)
                    return LeftOut(count=0, reasons={}, unchecked=self._documents.count())
            return self._counted[1]

    def _count(self) -> LeftOut:
        listed = self._skill_files.listed_revisions()
        known = {one: found for one, found in self._checked.items() if listed.get(one) == found.revision}
        unknown = [one for one in listed if one not in known]
        for skill_id in unknown[: self._read_at_once]:
            known[skill_id] = _Checked(listed[skill_id], _reason(skill_id, self._text))
        self._checked = known
        reasons = Counter(found.reason for found in known.values() if found.reason is not None)
        return LeftOut(count=reasons.total(), reasons=dict(reasons), unchecked=len(listed) - len(known))

    def _text(self, skill_id: str) -> str:
        return self._skill_backends.of(skill_id).text(skill_id)


def _reason(skill_id: str, text_of: Callable[[str], str]) -> LeftOutReason | None:
    name = name_of(skill_id)
    if name is None:
        return "id_not_allowed"
    try:
        text = text_of(skill_id)
    except RegistryError as error:
        if error.status == 503:  # the database cannot be read: the count would be wrong
            raise
        return None  # gone or unreadable, whatever its name is; a scan finds that and changes its revision
    return None if read(text).fields.get("name") == name else "name_differs"
