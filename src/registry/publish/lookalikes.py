"""Detects look-alike names: `pdf-too1s` and `pdftools` of one scope look like `pdf-tools` of another."""

import string
import unicodedata
from collections.abc import Iterable, Sequence

from registry.catalog.originals import ids_before
from registry.db import Database, Reader
from registry.domain.findings import Finding
from registry.errors import conflict
from search.lexical.edits import one_edit_away

_CONFUSABLE = str.maketrans({"l": "1", "i": "1", "|": "1", "o": "0"})
_LIKE_LATIN = str.maketrans(
    "аеорсухіјѕһӏԁԛԝґкмнтвгαεοριυντκχγβηѵıɡɑо",
    "aeopcyxijshldqwrkmhtbraeopiuvtkxybnviga0",
)
"""Letters of other scripts that look like a Latin letter: the common ones of UTS 39, in lower case."""

_LETTERS = string.ascii_lowercase + string.digits
_LETTERS_OF_SKELETONS = "".join(sorted(set(_LETTERS.translate(_CONFUSABLE))))
_SHORTEST_NEAR = 6
"""The letters of a name to which another one can be near: of shorter ones, too many are."""

_CLAIMS = frozenset({"official", "original", "real", "true", "verified", "genuine", "pro", "plus", "new", "latest"})
"""Words that make a name look like a better one."""


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
    """Return a finding if the name looks like, or nearly like, a name that was there before in another scope.

    A name of equal skeleton is a security issue, because people cannot tell the two apart. A warning is for the same
    name, one with another letter, and one with a word before or behind it: the scope of the other, or `official`.
    """
    scope, _, name = skill_id.partition("/")
    likes = [like for like in _published_before(reader, skill_id, [skeleton(skill_id)]) if not _is_of(like, scope)]
    alike = next((like for like in likes if like.partition("/")[2] != name), None)
    if alike is not None:
        message = f"the name looks like '{alike}', which another scope published before"
        return Finding(kind="security_issue", severity="medium", rule="lookalike-name", message=message)
    near = likes or _near_names(reader, skill_id)
    if not near:
        return None
    message = f"the name is like that of '{near[0]}', which was here before: say in the description how they differ"
    return Finding(kind="quality_warning", severity="none", rule="near-name", message=message)


def _is_of(skill_id: str, scope: str) -> bool:
    return skill_id.partition("/")[0] == scope


def _published_before(reader: Reader, skill_id: str, skeletons: Sequence[str]) -> list[str]:
    """Return the skills of these skeletons that were published before a skill, the first one first."""
    rows = reader.read(
        f"select skill_id, min(published_at) from published where skeleton in ({', '.join('?' * len(skeletons))})"
        " group by skill_id order by 2, 1",
        skeletons,
    )
    own = reader.read("select min(published_at) from published where skill_id = ?", (skill_id,))[0][0]
    return [str(published_id) for published_id, at in rows if published_id != skill_id and (own is None or at < own)]


def _near_names(reader: Reader, skill_id: str) -> list[str]:
    """Return published skills of other scopes, folders and records whose names are near that of a skill."""
    scope, _, name = skill_id.partition("/")
    names = [name, *_without_words(name)]
    skeletons = {skeleton(variant) for variant in names}
    if len(name) >= _SHORTEST_NEAR:
        skeletons |= one_edit_away(skeleton(name), _LETTERS_OF_SKELETONS)
        names += one_edit_away(name, _LETTERS)
    published = _published_before(reader, skill_id, sorted(skeletons))
    near = [
        published_id for published_id in published if not _is_of(published_id, scope) and _is_near(name, published_id)
    ]
    others = ids_before(reader, skill_id, names, scope)
    return [*near, *(bare_name for bare_name in others if _is_near(name, f"/{bare_name}"))]


def _is_near(name: str, neighbour: str) -> bool:
    """Return whether a name is another one with a letter changed, or with a word that says whose or how good it is."""
    other_scope, _, other_name = neighbour.partition("/")
    words = {word for bare, word in _without_words(name).items() if skeleton(bare) == skeleton(other_name)}
    return not words or not words.isdisjoint({other_scope, *_CLAIMS})


def _without_words(name: str) -> dict[str, str]:
    """Return a name without its first and without its last word, each with that word; not of a single word."""
    first, _, rest = name.partition("-")
    start, _, last = name.rpartition("-")
    return {bare: word for bare, word in ((rest, first), (start, last)) if len(bare) >= _SHORTEST_NEAR}
