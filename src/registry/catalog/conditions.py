"""What a change requires of the skill that its transaction finds."""

from collections.abc import Collection
from typing import NamedTuple

from registry.domain.models import Skill
from registry.domain.roles import Principal, includes, scope_of
from registry.errors import forbidden, precondition_failed

ANY_ETAG = "*"


class Conditions(NamedTuple):
    """Checked in the transaction of a change, because the skill may be another one than when the request arrived.

    Args:
        etags: Entity tags, of which the skill must have one; None for any.
        caller: Who changes the skill; None in the local profile, where everybody may.
    """

    etags: Collection[str] | None = None
    caller: Principal | None = None

    def check(self, skill: Skill) -> None:
        """Raise FORBIDDEN for a skill of another scope, and PRECONDITION_FAILED."""
        self._check_owner(skill)
        self.check_etag(skill)

    def _check_owner(self, skill: Skill) -> None:
        """Raise FORBIDDEN for a published skill or a record of another scope."""
        if self.caller is None:
            return
        if skill.installed:  # a folder has no owner
            check_narrowing(self.caller, skill.id)
            return
        if "/" in skill.id:
            check_owner(self.caller, skill.id)
        elif skill.scope is not None:
            check_scope(self.caller, skill.id, skill.scope)

    def check_etag(self, skill: Skill) -> None:
        """Raise PRECONDITION_FAILED if there are `etags`, and that of the skill is not among them."""
        if self.etags is not None and ANY_ETAG not in self.etags and skill.etag not in self.etags:
            raise precondition_failed()


NO_CONDITIONS = Conditions()


def check_owner(caller: Principal, skill_id: str) -> None:
    """Refuse changes to published skills of another scope (*Authentication*, rule 7). Raises FORBIDDEN."""
    check_scope(caller, skill_id, scope_of(skill_id))


def check_scope(caller: Principal, skill_id: str, scope: str) -> None:
    """Refuse changes to a skill of another scope, except by administrators, and by a token for other skills.

    Raises FORBIDDEN.
    """
    if caller.scope != scope and not includes(caller.role, "admin"):
        raise forbidden(f"Skill '{skill_id}' belongs to the scope '{scope}', not to yours")
    check_narrowing(caller, skill_id if "/" in skill_id else f"{scope}/{skill_id}")


def check_narrowing(caller: Principal, skill_id: str) -> None:
    """Refuse changes to a skill that the caller's token is not for. Raises FORBIDDEN."""
    if caller.narrowing is not None and not caller.narrowing.covers(skill_id):
        raise forbidden(
            f"This token is for {', '.join(caller.narrowing.skills)} only: use one whose skills include '{skill_id}'"
        )
