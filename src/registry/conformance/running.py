"""Run the rows one after the other."""

from collections.abc import Iterator, Sequence

from registry.conformance.answer import Mismatch, NotApplicable
from registry.conformance.rows import Result, Row
from registry.conformance.sections import SECTIONS
from registry.conformance.service import Service


def rows_of(profile: str, *, only_specification: bool = False, sections: Sequence[str] = ()) -> list[Row]:
    """Return the rows of a profile.

    Args:
        profile: `local` or `registry`.
        only_specification: Whether to leave out what the specification leaves open.
        sections: Parts of the names of sections, in any case; none for all sections.
    """
    return [
        row
        for section in SECTIONS
        for row in section
        if row.profile in (None, profile)
        and not (only_specification and row.decided)
        and (not sections or any(part.lower() in section.name.lower() for part in sections))
    ]


def run(service: Service, rows: Sequence[Row]) -> Iterator[Result]:
    """Yield how each row ended. Whatever was created is removed at the end."""
    try:
        for row in rows:
            yield _result(service, row)
    finally:
        service.close()


def _result(service: Service, row: Row) -> Result:
    names = (row.section, row.text, "decision" if row.decided else "specification")
    if reason := row.obstacle(service):
        return Result(*names, "skip", reason=reason)  # type: ignore[arg-type]
    try:
        row.check(service)
    except Mismatch as mismatch:
        return Result(*names, "fail", mismatch.expected, mismatch.seen)  # type: ignore[arg-type]
    except NotApplicable as reason:
        return Result(*names, "skip", reason=str(reason))  # type: ignore[arg-type]
    return Result(*names, "pass")  # type: ignore[arg-type]
