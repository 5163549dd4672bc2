"""Detects look-alike names: `pdf-too1s` and `pdftools` of one scope look like `pdf-tools` of another."""

import unicodedata
from collections.abc import Iterable

from registry.db import Database, Reader
from registry.domain.findings import Finding
from registry.errors import conflict

_CONFUSABLE = str.maketrans({"l": "1", "i": "1", "|": "1", "o": "0"})
_LIKE_LATIN = str.maketrans(
    "аеорсухіјѕһӏԁԛԝґкмнтвгαεοριυντκχγβηѵıɡɑо",
    "aeopcyxijshldqwrkmhtbraeopiuvtkxybnviga0",
)
"""Letters of other scripts that look like a Latin letter: the common ones of UTS 39, in lower case."""


def skeleton(name: str) -> str:
    """Return the skeleton of an id or a displayed name: names that look alike have equal ones, whatever their scope.

    It follows the skeletons of UTS 39: accents and everything but letters and digits are removed, letters of other
    scripts count as the Latin ones that they look like, `l` and `i` count as `1`, and `o` counts as `0`.
    """
    plain = unicodedata.normalize("NFKD", name.rpartition("/")[2]).casefold().translate(_LIKE_LATIN)
    return "".join(letter for letter in plain.translate(_CONFUSABLE) if letter.isalnum())


def refuse_lookalikes(database: Database, names: Iterable[str], scope: str | None, own: str | None = None) -> None:
    """Raise CONFLICT if a name looks like, or is, that of a skill that another scope than `scope` has published.

    `own` is the id of a published skill that may have the name, because it is the one.
    """
    named = {skeleton(name): name for name in reversed(tuple(names))}  # of names that look alike, the first
    sql = (
        f"select distinct skeleton, skill_id from published where skeleton in ({', '.join('?' * len(named))})"
        " order by skill_id"
    )
    for like, skill_id in database.read(sql, list(named)):
        if skill_id != own and skill_id.partition("/")[0] != scope:
            raise conflict(
                f"The name '{named[like]}' is taken: it looks like '{skill_id}', which another scope published"
            )


def lookalike(reader: Reader, skill_id: str) -> Finding | None:
    """Return a finding if the name looks like a name that another scope published before.

    Equal names are not reported: the scope distinguishes them.
    """
    scope, _, name = skill_id.partition("/")
    rows = reader.read(
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
