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
    if abs(len(first) - len(second)) > MAX_EDITS:
        return MAX_EDITS + 1
    first, second = _different_parts(first, second)
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        before, last, row = row, before, [at]
        for other_at, other in enumerate(second, 1):
            cost = min(before[other_at] + 1, row[-1] + 1, before[other_at - 1] + (letter != other))
            if last and other_at > 1 and letter == second[other_at - 2] and first[at - 2] == other:
                cost = min(cost, last[other_at - 2] + 1)
            row.append(cost)
        if min(row) > MAX_EDITS and min(before) > MAX_EDITS:
            break
    return min(row[-1], MAX_EDITS + 1)


def _different_parts(first: str, second: str) -> tuple[str, str]:
    """Return two words without the letters at which both begin and end."""
    start, shorter = 0, min(len(first), len(second))
    while start < shorter and first[start] == second[start]:
        start += 1
    end = 0
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    return first[start : len(first) - end], second[start : len(second) - end]
