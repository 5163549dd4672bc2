"""Rows: one sentence of the specification each, with the function that checks it and what it needs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from registry.conformance.service import Service

Profile = Literal["local", "registry"]
Level = Literal["read", "write", "publish"]
Check = Callable[[Service], None]
Outcome = Literal["pass", "fail", "skip"]


class _Add(Protocol):
    def __call__(self, check: Check) -> Check: ...


@dataclass(frozen=True)
class Row:
    """One sentence that a service must fulfil.

    Attributes:
        section: The section of the specification.
        text: The sentence.
        check: Sends the requests; raises Mismatch, NotApplicable.
        decided: Whether the specification leaves this open and `docs/http.md` decides it.
        profile: The profile it belongs to, None for both.
        role: The least role whose credential it needs in the registry profile.
        level: What the user must have allowed.
        registry_mode: Whether only registry mode has it, in the registry profile.
        loopback: Whether it holds only for a service on this machine.
    """

    section: str
    text: str
    check: Check
    decided: bool = False
    profile: Profile | None = None
    role: Literal["user", "manager", "admin"] | None = None
    level: Level = "read"
    registry_mode: bool = False
    loopback: bool = False

    def obstacle(self, service: Service) -> str | None:
        """Return why this row cannot be run against a service, or None. Rows of the other profile are left out."""
        if self.level not in service.levels:
            return f"changes the service: allow it with --{self.level}"
        if service.profile == "registry" and self.registry_mode and not service.registry_mode:
            return "the service is not in registry mode"
        if service.profile == "registry" and self.role and not service.credential(self.role):
            return f"needs a credential of the role {self.role}: give one with --token"
        if self.loopback and not service.is_loopback:
            return "holds for services on this machine only"
        return None


@dataclass
class Section:
    """The rows of one section of the specification, in order."""

    name: str
    rows: list[Row] = field(default_factory=list)

    def row(self, text: str, **needs: object) -> _Add:
        """Add the decorated function as a row. `needs` are fields of `Row`."""

        def add(check: Check) -> Check:
            self.rows.append(Row(self.name, text, check, **needs))  # type: ignore[arg-type]
            return check

        return add

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)


class Result(msgspec.Struct, frozen=True):
    """How a row ended. `expected` and `seen` are there for a fail, `reason` for a skip."""

    section: str
    row: str
    origin: Literal["specification", "decision"]
    outcome: Outcome
    expected: str | None = None
    seen: str | None = None
    reason: str | None = None
