"""The names that the format of agentskills.io allows, and how many skills protocols leave out that demand them."""

import itertools
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


class _Counted(NamedTuple):
    """A count, and the revision that it is true of."""

    revision: int
    left_out: LeftOut


class SkillNames:
    """Counts the skills that protocols leave out. The count is kept until the catalog changes.

    The first count lists the catalog. Later ones look at what has changed since, and read its `SKILL.md`. A count reads
    at most `read_at_once` of them, so a large catalog takes several counts.
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
        self._checked: dict[str, LeftOutReason | None] = {}  # by id; without a reason the skill is not left out
        self._unchecked: dict[str, None] = {}  # in the order in which they are read
        self._counted: _Counted | None = None

    def left_out(self) -> LeftOut:
        """Return the count as of the latest change of the catalog."""
        with self._lock:
            revision = self._documents.revision()  # read first: the next count takes up a change from now on
            if self._counted is None or self._counted.revision != revision or self._unchecked:
                try:
                    self._counted = _Counted(revision, self._count(revision))
                except Exception as error:  # a damaged row must not take the status with it
                    _LOG.warning("the names that protocols leave out cannot be counted", exc_info=error)
                    return LeftOut(count=0, reasons={}, unchecked=self._documents.count())
            return self._counted.left_out

    def _count(self, revision: int) -> LeftOut:
        self._look_for_changes(revision)
        for skill_id in list(itertools.islice(self._unchecked, self._read_at_once)):
            self._checked[skill_id] = _reason(skill_id, self._text)
            del self._unchecked[skill_id]
        reasons = Counter(reason for reason in self._checked.values() if reason is not None)
        return LeftOut(count=reasons.total(), reasons=dict(reasons), unchecked=len(self._unchecked))

    def _look_for_changes(self, revision: int) -> None:
        """Note what is to be read again because it has changed since the last count: at first everything."""
        if self._counted is None:
            self._checked, self._unchecked = {}, dict.fromkeys(self._skill_files.listed_ids())
            return
        for skill_id in self._documents.changed_ids(self._counted.revision, revision):
            self._checked.pop(skill_id, None)
            self._unchecked.pop(skill_id, None)
            if self._skill_files.is_listed(skill_id):
                self._unchecked[skill_id] = None

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
