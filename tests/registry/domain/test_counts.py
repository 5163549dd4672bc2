"""Numbers with their nouns, in messages."""

import pytest

from registry.domain.counts import counted


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "skill", "0 skills"),
        (1, "skill", "1 skill"),
        (2_000, "removed skill", "2,000 removed skills"),
        (3, "entry", "3 entries"),
        (30, "day", "30 days"),
    ],
)
def test_a_noun_follows_its_number(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text
