"""Names that can be taken for another's: `pdf-too1s` and `pdftools` of one scope beside `pdf-tools` of another."""

from registry.db import Transaction
from registry.domain.findings import Finding

_READ_AS = str.maketrans({"-": None, "_": None, ".": None, "l": "1", "i": "1", "o": "0"})


def skeleton(skill_id: str) -> str:
    """Return what every name that looks like this skill's has in common, whatever the scope.

    As the skeletons of UTS 39, for the letters that names of packages may have: separators do not count, nor does
    telling `l` and `i` from `1`, and `o` from `0`.
    """
    return skill_id.rpartition("/")[2].casefold().translate(_READ_AS)


def lookalike(transaction: Transaction, skill_id: str) -> Finding | None:
    """Return what is to be said of a name that looks like one another scope has published before.

    An equal name is no deception: the scope tells them apart.
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
                message=f"the name looks like that of '{earlier}', which another scope has published before",
            )
    return None
