"""Where a short prompt may be divided into two requests."""

import time

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


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("resize the red and blue photos, then send the weekly invoices", "resize the red and blue photos"),
        ("Open the shop at noon and close it. Also send the weekly invoices.", "Open the shop at noon and close it."),
        ("Open the shop at noon and close it. Once that is done, send them.", "Open the shop at noon and close it."),
        ("- Open the shop and close it\n- Send the invoices and wait", "Open the shop and close it"),
    ],
)
def test_a_prompt_that_says_so_is_divided_only_there(text: str, before: str) -> None:
    assert [(place.before, place.is_marked) for place in divisions(text).places] == [(before, True)]


def test_a_prompt_of_two_things_may_be_divided_anywhere() -> None:
    places = divisions("I need two things: resize all photos, and send the invoices and wait for them").places
    assert [place.is_marked for place in places] == [True, True]


def test_a_mere_conjunction_says_nothing() -> None:
    assert [place.is_marked for place in divisions("resize all photos and send the invoices").places] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "First resize all photos. Then send the invoices.",
        "1. resize all photos.\n2. send the invoices.",
        "- resize all photos.\n- send the invoices.",
        "resize all photos. After that, send the invoices.",
        "resize all photos. Once that is done, send the invoices.",
        "resize all photos. In addition, send the invoices.",
        "I need two things: resize all photos, and send the invoices.",
        "I have a couple of questions. resize all photos; also send the invoices.",
    ],
)
def test_words_that_say_only_where_a_side_stands_are_left_out(text: str) -> None:
    (place,) = divisions(text).places
    assert (place.before.rstrip(".;"), place.after.rstrip(".")) == ("resize all photos", "send the invoices")
    assert place.is_marked


def test_numbers_and_flags_that_are_no_list_stay() -> None:
    (place,) = divisions("3 ways to boil eggs and 4 ways to eat them").places
    assert (place.before, place.after) == ("3 ways to boil eggs", "4 ways to eat them")
    (place,) = divisions("explain what curl does\n-x flag in detail please").places
    assert place.after == "-x flag in detail please"


def test_the_time_is_bounded_by_the_length() -> None:
    for text in ("-" * 200_000 + " and send the invoices", "1." * 100_000 + " and send the invoices"):
        started = time.process_time()
        divisions(text)
        assert time.process_time() - started < 2.0
