"""How many documents a search found: counted where that is cheap, else the number that is known."""

from typing import NamedTuple

import numpy as np

from search.fusion import Ranking, Signals, may_be_close
from search.lexical.concurrent_query import LexicalQuery
from search.modes import RanMode


class Total(NamedTuple):
    """The number of hits on all pages but weak ones; with `is_floor`, at least as many. `keys` are those ranked."""

    number: int
    is_floor: bool
    keys: list[int]


class Counted(NamedTuple):
    """A search whose hits are counted: its ranking, and how many copies of it have no place there (`left_out`).

    Each index contributed the best documents, the vectors `depth` of them. `copies` is the number of all copies.
    """

    ranking: Ranking
    left_out: int
    query: LexicalQuery
    signals: Signals
    mode: RanMode
    depth: int
    copies: int

    def total(self, min_score: float) -> Total:
        """Return how many places the search has.

        Only a search by words alone counts what lies deeper, where copies may have no place of their own.
        """
        hits, words = self.ranking.count_at_least(min_score), self.signals.with_words
        keys = self.ranking.all_keys()[:hits][~self.ranking.is_weak[:hits]]
        if self.mode == "keyword" and words is not None:
            deeper = max(0, words - hits - self.left_out)
            may_be_left_out = min(deeper, self.copies - self.left_out)
            return Total(hits + deeper - may_be_left_out, is_floor=may_be_left_out > 0, keys=keys.tolist())
        return Total(len(keys), is_floor=self._may_have_more(hits), keys=keys.tolist())

    def _may_have_more(self, hits: int) -> bool:
        """Return whether a document that neither index contributed may be a hit that is not weak, of `hits` ones.

        It has at most the words of the last that words contributed, and is at most as near as the last of the vectors.
        If fewer hits than the depth were ranked, the farthest of the nearest is no hit, and so are all others.
        """
        bm25, cosine = self.signals.bm25, self.signals.cosine
        with_words = bm25[bm25 > 0]
        has_more_words = len(with_words) >= self.query.limit
        if self.mode == "keyword":
            return has_more_words and hits == len(self.ranking)
        near = np.sort(cosine[~np.isnan(cosine)])[::-1][: self.depth]
        if not has_more_words and len(self.ranking) + self.left_out < self.depth:
            return False
        words = float(with_words.min()) if has_more_words else 0.0
        return may_be_close(words, float(near[-1]) if len(near) else 0.0, self.signals, self.mode)
