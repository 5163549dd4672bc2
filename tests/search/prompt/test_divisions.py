"""Where a short prompt may be divided into two requests."""

import pytest

from search.prompt.divisions import divisions


@pytest.mark.parametrize(
    "text",
    [
        "Resize the product photos. Send the weekly invoices.",
        "resize the product photos; send the weekly invoices",
        "resize the product photos and then send the weekly invoices",
        "resize the product photos, and also send the weekly invoices",
        "resize the product photos as well as send the weekly invoices",
        "1. Resize the product photos\n2. Send the weekly invoices",
        "- Resize the product photos\n- Send the weekly invoices",
    ],
)
def test_sides_lie_between_sentences_items_and_conjunctions(text: str) -> None:
    sides = [(each.before.lower(), each.after.lower()) for each in divisions(text).places]
    assert any("photos" in before and "invoices" in after and "send" in after for before, after in sides)


@pytest.mark.parametrize("text", ["", "resize photos", "black and white", "read the log and " + "step " * 60])
def test_a_prompt_without_two_sides_or_too_long_has_no_place(text: str) -> None:
    assert not divisions(text).places


def test_a_prompt_of_many_boundaries_is_not_divided() -> None:
    assert not divisions("one two three and " * 12).places


def test_pieces_are_those_before_and_after_each_boundary() -> None:
    found = divisions("resize the photos. Send the invoices and tell the team about it")
    assert found.pieces == ["resize the photos.", "Send the invoices", "tell the team about it"]
    assert [place.pieces for place in found.places] == [1, 2]
