"""Skills that were there before another one: the originals of their names."""

from collections.abc import Sequence

import msgspec

from registry.db import Reader

_LAST = 1 << 62
"""More than the sequence of any skill."""


class _Scoped(msgspec.Struct):
    """The part of a skill that says whose it is: a record has a scope, a folder none."""

    scope: str | None = None


def ids_before(reader: Reader, skill_id: str, ids: Sequence[str], scope: str) -> list[str]:
    """Return those of some ids whose skills were there before `skill_id`, without those of a scope, oldest first.

    Advertised skills are left out: sources list them.
    """
    places = ", ".join("?" * (len(ids) + 1))
    # By id alone: with the order in the statement, SQLite reads all skills in that order.
    rows = reader.read(f"select id, sequence, advertised, detail from skills where id in ({places})", (skill_id, *ids))
    own = next((sequence for original_id, sequence, _, _ in rows if original_id == skill_id), _LAST)
    before = sorted(
        (sequence, original_id, detail) for original_id, sequence, advertised, detail in rows if not advertised
    )
    return [
        str(original_id)
        for sequence, original_id, detail in before
        if sequence < own and msgspec.json.decode(detail, type=_Scoped).scope != scope
    ]
