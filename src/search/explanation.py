"""Why a search found a document. This module loads no numeric library, so clients can use it too."""

from typing import Literal

import msgspec

Tier = Literal["exact_name", "name_prefix", "evidence"]
Part = Literal["words", "examples", "vectors"]
Field = Literal["name", "id", "description", "tags", "capabilities", "body", "files"]


class MatchedWord(msgspec.Struct, kw_only=True):
    """A word of the query that a document contains, in any inflection.

    `fields` are the parts of the document that contain it. `weight` is its share of the evidence of the words.
    """

    word: str
    fields: list[Field]
    weight: float


class Explanation(msgspec.Struct, kw_only=True):
    """The reasons for the rank of a hit.

    `tier` comes first: exact names are above everything, names that begin with the query are lifted onto the first
    page (to the top if they equal the corrected query), everything else is ranked by `evidence`, the sum of `parts`.
    `cosine` is the similarity of the vectors of query and document, null if either has none; a document without a
    vector gets the mean of the other candidates as its part. `words` are ordered by weight. `examples` are earlier
    queries that led to this skill and share words with this one, most shared words first.
    """

    tier: Tier
    evidence: float
    parts: dict[Part, float]
    cosine: float | None
    words: list[MatchedWord]
    examples: list[str] = []
