"""The model of large catalogs: what it keeps is computed from the results that are kept."""

import json
from pathlib import Path

import pytest

from support.scale_page import MODEL, model_tables

pytestmark = pytest.mark.outside
KEPT = MODEL.with_name("results") / "scale-model.json"


def test_the_kept_model_is_that_of_the_kept_results(tmp_path: Path) -> None:
    model_tables("--json", str(tmp_path / "model.json"))
    again, kept = (json.loads(file.read_text()) for file in (tmp_path / "model.json", KEPT))
    assert again.pop("command") != kept.pop("command")
    assert again == kept


def test_the_model_says_what_was_measured_where_it_was_measured() -> None:
    for figure in json.loads(KEPT.read_text())["fits"]:
        for size, value in figure["measured"].items():
            linear = figure["a"] + figure["b"] * int(size)
            fitted = linear if figure["form"] == "linear" else figure["a"] * int(size) ** figure["b"]
            assert fitted == pytest.approx(value, rel=(figure["largest residual"] or 0) + 1e-3), figure["figure"]


def test_ten_times_the_skills_take_more_of_everything_that_is_used() -> None:
    plans = json.loads(KEPT.read_text())["plans"]
    small, large = plans["10000000"], plans["100000000"]
    rates = {name for name in small if "per second" in name or "can change" in name}
    assert {name for name in small if large[name] < small[name]} == rates
