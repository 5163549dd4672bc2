"""The request beside a pasted document, and long tasks, of which nothing is left out."""

import time
from collections.abc import Iterator

import pytest

from search.engine import Engine
from search.prompt.documents import without_document
from search.prompt.reading import left_out_notes, read_prompt
from support.engines import engine_over, page

LIGHTHOUSE = """
# The Lighthouse of Skerry Point

The lighthouse was built in 1868 on a reef that lies two miles from the coast. It is made of granite, which
was shipped from a quarry in the south, and its walls are three metres thick at the base. The tower has nine
floors.

## Keepers and Their Families

Three keepers lived in the tower at a time, each for eight weeks. Their families had houses in the harbour.
Supplies were brought by boat in summer and, when the sea was rough, by a basket on a rope that is shown in
the museum.

- The lens weighs four tons.
- It floats in a basin of mercury.
- The light is seen for twenty miles.

In 1974 the light was automated. The mechanism that had to be wound every half hour was replaced by a motor,
and a cable from the shore has supplied the current since. The last keeper left on a morning in October. A
newspaper of the region has the photograph in which he hands over the keys, and the original hangs in the town
hall.

Today the tower belongs to a trust. Visitors are landed at low tide between May and September. The climb of
183 steps is steep, and the lamp room holds no more than six people.
""".strip().split("\n\n")
REQUESTS = [
    "resize all photos in a folder to 800 pixels",
    "Resize the photos of my holiday to 800 pixels.",
    "How do I resize photos in bulk?",
    "can you resize these photos for me",
    "We need all photos of our shop in a smaller size. Resize them, please.",
]
TASK = """
Build a dashboard for the energy use of our three factories.

The data is in data/meters.csv with one row for each meter and quarter of an hour since January 2022. Columns
are meter, timestamp in UTC, kWh and a quality flag. Flag 2 means that the value was estimated by the
operator. There are about 21 million rows, and three meters were replaced in 2023, so their ids changed.

Management wants to see the use per factory and month, compared with the same month of the year before, and
the ten meters that rose most. The people in the factories want yesterday's curve against the average of the
weekday.

Use DuckDB for the queries and Streamlit for the page. It has to start with one command and answer in two
seconds. The page is shown on a screen in the hall, so its letters are large, and it is read from three
metres.

Write tests for the borders of months, because the factories are in Lisbon and the data is in UTC.
""".strip().split("\n\n")
SKILLS = [
    ("photo-resizer", "Resize photos in bulk", "resize photos pixels folder"),
    (
        "lighthouse-history",
        "Tell the history of a lighthouse, its keepers and its tower",
        "lighthouse keepers tower lens",
    ),
    ("energy-dashboard", "Show the energy use of factories on a dashboard", "energy meters dashboard"),
    *((f"other-{n}", f"Something about topic{n} and subject{n}", "text") for n in range(60)),
]


def prompts(request: str) -> Iterator[str]:
    for between in ("\n\n", "\n"):
        yield between.join([request, *LIGHTHOUSE])
        yield between.join([*LIGHTHOUSE, request])
    yield "\n\n".join([*LIGHTHOUSE[:4], request, *LIGHTHOUSE[4:]])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over(SKILLS, tmp_path_factory.mktemp("documents")) as filled:
        yield filled


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_document_is_left_out_wherever_it_stands(engine: Engine, request_: str) -> None:
    for prompt in prompts(request_):
        parts = without_document(prompt)
        assert parts is not None
        assert parts.request == request_
        assert "granite" in parts.document
        assert page(engine, prompt)[0].id == "photo-resizer"


def test_the_answer_says_what_was_left_out() -> None:
    read = read_prompt(next(prompts(REQUESTS[0])))
    assert read.text == REQUESTS[0]
    assert "granite" in read.identifiers
    (note,) = left_out_notes(read)
    assert note.endswith("characters of logs, code, data, documents and background")
    assert read.left_out > 1000


def test_a_long_task_is_searched_whole(engine: Engine) -> None:
    assert without_document("\n\n".join(TASK)) is None
    assert page(engine, "\n\n".join(TASK))[0].id == "energy-dashboard"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n\n",
        "resize all photos",
        "\n\n".join([REQUESTS[0], *LIGHTHOUSE[:2]]),  # background
        "\n\n".join(LIGHTHOUSE),  # nothing is asked for
        "\n\n".join(["Getting Started", *LIGHTHOUSE, "Further Reading"]),
        " ".join(LIGHTHOUSE),
    ],
)
def test_there_is_no_document_beside_a_request(text: str) -> None:
    assert without_document(text) is None


def test_a_document_and_a_log_are_both_left_out() -> None:
    log = [
        f"2026-11-28T10:00:0{n}Z ERROR worker[{n}] upload failed: disk quota exceeded on /dev/sd{n}" for n in range(9)
    ]
    prompt = "\n\n".join([REQUESTS[0], *LIGHTHOUSE, "\n".join(log)])
    assert read_prompt(prompt).text == REQUESTS[0]


def test_a_long_text_is_read_in_bounded_time() -> None:
    for text in ("a.\n" * 300_000, "\n\n" * 300_000 + "x", "word " * 300_000, "A b. " * 200_000):
        started = time.process_time()
        read_prompt(text)
        assert time.process_time() - started < 2.0
