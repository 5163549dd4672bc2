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
    places = ", ".join("?" * len(ids))
    rows = reader.read(
        "select id, detail from skills where advertised = 0 and sequence <"
        f" coalesce((select sequence from skills where id = ?), {_LAST}) and id in ({places}) order by sequence",
        (skill_id, *ids),
    )
    return [str(one) for one, detail in rows if msgspec.json.decode(detail, type=_Scoped).scope != scope]
