"""Detects look-alike names: `pdf-too1s` and `pdftools` of one scope look like `pdf-tools` of another."""

from registry.db import Transaction
from registry.domain.findings import Finding

_CONFUSABLE = str.maketrans({"-": None, "_": None, ".": None, "l": "1", "i": "1", "o": "0"})


def skeleton(skill_id: str) -> str:
    """Return the skeleton of a name: names that look alike have equal skeletons, whatever their scope.

    It follows the skeletons of UTS 39 for the letters allowed in names: separators are removed, `l` and `i` count as
    `1`, and `o` counts as `0`.
    """
    return skill_id.rpartition("/")[2].casefold().translate(_CONFUSABLE)


def lookalike(transaction: Transaction, skill_id: str) -> Finding | None:
    """Return a finding if the name looks like a name that another scope published before.

    Equal names are not reported: the scope distinguishes them.
    """
    scope, _, name = skill_id.partition("/")
    rows = transaction.read(
        "select skill_id, min(published_at) from published where skeleton = ? group by skill_id order by 2, 1",
        (skeleton(skill_id),),
    )
    for earlier, _ in rows:
        if earlier == skill_id:
            return None
        other_scope, _, other_name = earlier.partition("/")
        if other_scope != scope and other_name != name:
            return Finding(
                kind="security_issue",
                severity="medium",
                rule="lookalike-name",
                message=f"the name looks like '{earlier}', which another scope published before",
            )
    return None
