"""Use cases of learning from use: which skill a user chose for a search, and what is stored of it."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.catalog.conditions import check_scope
from registry.catalog.examples import LOCAL, MAX_CHOICES, Choice, Examples, NewChoice, Outcome
from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.db import Database, DatabaseError, read_fact
from registry.domain.origins import ListedId
from registry.domain.roles import Principal, includes
from registry.errors import FieldError, forbidden, not_found, skill_not_found, validation_error
from registry.findings.matching import matches
from registry.findings.secrets import SECRETS
from registry.runtime.periodic_worker import PeriodicWorker
from registry.services.search_id import SearchIds

KEPT_FOR = timedelta(days=365)
"""How long a choice is stored."""

LIMIT_OF_CALLER = 3
"""The choices of one skill that one caller of a registry may have. In the local profile there is only one caller."""

_ROUND_SECONDS = 24 * 3600.0
_SECRETS = frozenset(rule.id for rule in SECRETS)


class FeedbackBody(msgspec.Struct, kw_only=True):
    """What became of a skill that a search showed."""

    search_id: Annotated[str, Meta(min_length=1, max_length=8000, extra={"rule": "must be the search_id of an answer"})]
    skill_id: ListedId
    outcome: Outcome


class FeedbackData(msgspec.Struct, kw_only=True):
    """What was learned: `learned` is false where the query is not stored, and `reason` says why."""

    skill_id: str
    outcome: Outcome
    learned: bool
    reason: str | UnsetType = UNSET


class Forgotten(msgspec.Struct, kw_only=True):
    """How many choices were deleted."""

    deleted: int


def learns(settings: Settings) -> bool:
    """Return whether the service learns from use: by default, unless callers are anonymous."""
    if settings.server.read_only or settings.search.learning == "off":
        return False
    is_anonymous = settings.auth.anonymous_read or settings.auth.issuer == "open"
    return settings.search.learning == "on" or settings.profile == "local" or not is_anonymous


def _not_learned(body: FeedbackBody, reason: str) -> FeedbackData:
    return FeedbackData(skill_id=body.skill_id, outcome=body.outcome, learned=False, reason=reason)


class Feedback:
    """Learns from what people choose. Safe to use from several threads."""

    def __init__(self, settings: Settings, database: Database, catalog: Catalog, clock: Callable[[], datetime]) -> None:
        self.is_on = learns(settings)
        self.examples = Examples(database, clock, KEPT_FOR)
        self._catalog = catalog
        self._ids = SearchIds(str(read_fact(database, "search_key")))
        log = logging.getLogger("registry.services")
        self.forgetting = PeriodicWorker("forget-choices", self._forget_old, log, (DatabaseError,))
        self._has_callers = settings.profile == "registry"

    def _forget_old(self) -> float:
        self.examples.forget_old()
        return _ROUND_SECONDS

    def search_id(self, query: str, keys: Sequence[int]) -> str | UnsetType:
        """Return the id of a search that shows these skills; unset if the service does not learn."""
        return self._ids.make(query, keys) if self.is_on and keys else UNSET

    def give(self, body: FeedbackBody, principal: Principal | None) -> FeedbackData:
        """Learn from the outcome of a search. Raises FORBIDDEN, VALIDATION_ERROR, SKILL_NOT_FOUND."""
        if not self.is_on:
            raise forbidden("This service does not learn from use (search.learning)")
        search = self._ids.read(body.search_id)
        key = self._catalog.keys([body.skill_id]).get(body.skill_id)
        if key is None:
            raise skill_not_found(body.skill_id)
        if key not in search.keys:
            raise validation_error(FieldError("skill_id", "is not one of the skills that this search has shown"))
        if self._is_own(body.skill_id, principal):
            return _not_learned(body, "a skill does not learn from the scope that publishes it")
        if any(rule.id in _SECRETS for rule, _ in matches(search.query, prose=True)):
            return _not_learned(body, "the query looks as if it contains a secret")
        limit = LIMIT_OF_CALLER if self._has_callers else MAX_CHOICES
        self.examples.add(NewChoice(key, search.query, self._caller(principal), body.outcome, limit))
        return FeedbackData(skill_id=body.skill_id, outcome=body.outcome, learned=True)

    def _is_own(self, skill_id: str, principal: Principal | None) -> bool:
        """Return whether the caller could buy the rank of a skill of its own. Administrators do not need to."""
        if principal is None or includes(principal.role, "admin"):
            return False
        scope = skill_id.partition("/")[0] if "/" in skill_id else self._catalog.record_scope(skill_id)
        return scope is not None and scope == principal.scope

    def list(
        self, skill_id: str | None, limit: int, offset: int, principal: Principal | None
    ) -> tuple[list[Choice], int]:
        """Return what is stored, of one skill or of all, newest first, and the total number.

        What others asked is not for everyone: only administrators may omit the skill, or name one of another scope than
        theirs. Raises VALIDATION_ERROR, FORBIDDEN.
        """
        self._check_reach(principal, skill_id)
        return self.examples.list(skill_id, limit, offset)

    def forget(self, skill_id: str | None, example_id: str | None, principal: Principal | None) -> Forgotten:
        """Delete what is stored: all, or that of a skill, of one query, or both.

        Only administrators may omit the skill, or name one of another scope than theirs. Raises VALIDATION_ERROR,
        FORBIDDEN, and NOT_FOUND if nothing of that skill or query is stored.
        """
        self._check_reach(principal, skill_id)
        deleted = self.examples.forget(skill_id, example_id)
        if not deleted and (skill_id or example_id):
            raise not_found("Such an example")
        return Forgotten(deleted=deleted)

    def _check_reach(self, caller: Principal | None, skill_id: str | None) -> None:
        if caller is None or includes(caller.role, "admin"):
            return
        if skill_id is None:
            raise validation_error(FieldError("skill_id", "is missing: only administrators may omit it"))
        scope = self._catalog.record_scope(skill_id)
        if scope is not None:
            check_scope(caller, skill_id, scope)

    def forget_own(self, principal: Principal | None) -> Forgotten:
        """Delete all choices of the caller."""
        return Forgotten(deleted=self.examples.forget(caller=self._caller(principal)))

    def _caller(self, principal: Principal | None) -> str:
        """Return the name under which the choices of a caller are stored: a keyed hash in a registry."""
        return self._ids.caller(principal.account) if principal else LOCAL
