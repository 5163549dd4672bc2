"""How far apart two words are, in edits: a letter inserted, left out or replaced, or two neighbours swapped."""

from string import ascii_lowercase

MAX_EDITS = 2


def one_edit_away(word: str, letters: str = ascii_lowercase) -> set[str]:
    """Return all words of some letters that are one edit from `word`: about 54 of a to z for each of its letters."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = {start + end[1:] for start, end in splits if end}
    swapped = {start + end[1] + end[0] + end[2:] for start, end in splits if len(end) > 1}
    replaced = {start + letter + end[1:] for start, end in splits if end for letter in letters}
    longer = {start + letter + end for start, end in splits for letter in letters}
    return (shorter | swapped | replaced | longer) - {word}


def edits(first: str, second: str) -> int:
    """Return the number of edits between two words, counted up to 3: the optimal string alignment distance."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only misspelled words need it, and a start does without

    return OSA.distance(first, second, score_cutoff=MAX_EDITS)
