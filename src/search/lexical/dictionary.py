"""The dictionary of the keyword index: the words of names, descriptions and labels, and which one a word may mean."""

from collections.abc import Mapping

import tantivy

from search.lexical.edits import MAX_EDITS, edits, one_edit_away
from search.lexical.memory_segment import MemorySegment

_TWO_EDITS_FROM = 8
"""The length of words that may have two edits. Of shorter words, too many others are as near."""

_OTHER_FIRST_LETTER_FROM = 6
"""The length of words of which the first letter may be missed."""

_SHORTEST_PART = 3
_FIRST_LETTER_FACTOR = 10  # how much rarer people miss the first letter than another one
_SAME_LETTERS_FACTOR = 3  # how much likelier letters are swapped or doubled than others typed
_MAX_BEGINNING_ALIKE = 4_000
LEAST_FREQUENT = 5
"""The number of documents of a word that may be meant in place of one that some document has."""


class Dictionary:
    """The dictionary of both segments. Safe to use from any thread."""

    def __init__(self, searcher: tantivy.Searcher, memory: MemorySegment) -> None:
        self._searcher = searcher
        self._memory = memory
        self._frequent_words: dict[str, dict[str, int]] = {}

    def meant(self, word: str) -> tuple[str, ...]:
        """Return the word that an unknown word in lower case may mean, the two that it joins, or nothing.

        It may also be the beginning of a word that the user has not typed to its end.
        """
        edited = {near_word: count for near_word in one_edit_away(word) if (count := self.frequency(near_word))}
        if len(word) < _OTHER_FIRST_LETTER_FROM:
            edited = {near_word: count for near_word, count in edited.items() if near_word[0] == word[0]}
        near = edited | self._beginning_with(word)
        if near:
            return (_likeliest(word, near),)
        if parts := self._parts(word):
            return parts
        two_edits = self._two_edits_away(word) if len(word) >= _TWO_EDITS_FROM else {}
        return (_likeliest(word, two_edits),) if two_edits else ()

    def more_frequent(self, word: str, least: int) -> str | None:
        """Return the word that a known word in lower case may mean: one edit away, with the same first letter.

        `least` documents contain it, and 5 at least. To look up all words one edit away would take longer.
        """
        alike = self._frequent(word[:2]) | self._frequent(word[0] + word[2])
        near = {
            near_word: alike[near_word] for near_word in one_edit_away(word) & alike.keys() if alike[near_word] >= least
        }
        return _likeliest(word, near) if near else None

    def _frequent(self, prefix: str) -> dict[str, int]:
        """Return the words with a prefix that are no rare ones. To read all words with it takes up to a millisecond."""
        counts = self._frequent_words.get(prefix)
        if counts is None:
            words = self._beginning_with(prefix)
            counts = {word: count for word, count in words.items() if count >= LEAST_FREQUENT}
            self._frequent_words[prefix] = counts
        return counts

    def frequency(self, word: str) -> int:
        """Return the number of documents with a word."""
        on_disk = self._searcher.doc_freq("word", word)
        return on_disk + self._memory.words.get(word, 0) if self._memory else on_disk

    def _parts(self, word: str) -> tuple[str, ...]:
        """Return the two words that a word joins, () if there are none."""
        cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
        rarest = {cut: min(self.frequency(word[:cut]), self.frequency(word[cut:])) for cut in cuts}
        best = max(rarest, key=lambda cut: (rarest[cut], cut), default=0)
        return (word[:best], word[best:]) if rarest.get(best) else ()

    def _two_edits_away(self, word: str) -> dict[str, int]:
        """Return the words two edits from a word, of those that begin with its first two letters or first and third."""
        near: dict[str, int] = {}
        for prefix in (word[:2], word[0] + word[2]):
            near |= self._beginning_with(prefix)
        return {near_word: count for near_word, count in near.items() if edits(word, near_word) == MAX_EDITS}

    def _beginning_with(self, prefix: str) -> dict[str, int]:
        words = dict(self._searcher.terms_with_prefix("word", prefix, limit=_MAX_BEGINNING_ALIKE))
        for word, count in self._memory.words.items():
            if word.startswith(prefix):
                words[word] = words.get(word, 0) + count
        return words


def _likeliest(word: str, candidates: Mapping[str, int]) -> str:
    """Return the candidate that most documents contain. What of the word was missed counts too."""

    def rank(near_word: str) -> tuple[int, str]:
        likelihood = candidates[near_word]
        if near_word[0] == word[0]:
            likelihood *= _FIRST_LETTER_FACTOR
        if set(near_word) == set(word):
            likelihood *= _SAME_LETTERS_FACTOR
        return -likelihood, near_word

    return min(candidates, key=rank)
