"""Which versions a requirement admits."""

import msgspec
import pytest

from registry.domain.version_requirement import VersionRequirement, admits, highest, is_exact

VERSIONS = ["0.0.3", "0.0.4", "0.2.0", "0.2.9", "0.3.0", "1.0.0", "1.2.0", "1.2.7", "1.10.0", "2.0.0"]


@pytest.mark.parametrize(
    ("requirement", "admitted"),
    [
        (None, VERSIONS),
        ("1.2.0", ["1.2.0"]),
        ("^1", ["1.0.0", "1.2.0", "1.2.7", "1.10.0"]),
        ("^1.2", ["1.2.0", "1.2.7", "1.10.0"]),
        ("^1.2.3", ["1.2.7", "1.10.0"]),
        ("^0.2", ["0.2.0", "0.2.9"]),
        ("^0.2.1", ["0.2.9"]),
        ("^0.0.3", ["0.0.3"]),
        ("^0.0", ["0.0.3", "0.0.4"]),
        ("^0", ["0.0.3", "0.0.4", "0.2.0", "0.2.9", "0.3.0"]),
        ("~1", ["1.0.0", "1.2.0", "1.2.7", "1.10.0"]),
        ("~1.2", ["1.2.0", "1.2.7"]),
        ("~1.2.1", ["1.2.7"]),
        ("~0.2.9", ["0.2.9"]),
        ("^3", []),
        ("*", VERSIONS),
        ("latest", VERSIONS),
        ("1.x", ["1.0.0", "1.2.0", "1.2.7", "1.10.0"]),
        ("1.2.*", ["1.2.0", "1.2.7"]),
        ("0.X", ["0.0.3", "0.0.4", "0.2.0", "0.2.9", "0.3.0"]),
        (">=1.2,<2", ["1.2.0", "1.2.7", "1.10.0"]),
        (">= 1.2 , < 2", ["1.2.0", "1.2.7", "1.10.0"]),
        (">1.2", ["1.10.0", "2.0.0"]),
        (">1.2.0", ["1.2.7", "1.10.0", "2.0.0"]),
        ("<=1.2,>=1", ["1.0.0", "1.2.0", "1.2.7"]),
        ("<0.0.4", ["0.0.3"]),
        (">=2,<1", []),
        ("^0.2 || ^2", ["0.2.0", "0.2.9", "2.0.0"]),
        ("1.2.0||>=1.3,<2||2.0.0", ["1.2.0", "1.10.0", "2.0.0"]),
    ],
)
def test_a_requirement_admits_the_versions_it_names(requirement: str | None, admitted: list[str]) -> None:
    assert [version for version in VERSIONS if admits(requirement, version)] == admitted
    assert highest(requirement, VERSIONS) == (admitted[-1] if admitted else None)


def test_versions_compare_as_numbers() -> None:
    assert highest("^1", ["1.9.0", "1.10.0", "1.2.0"]) == "1.10.0"


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1.2", "v1.2.0", "^", "^1.2.3.4", "^01", "=1.0.0", "x", "Latest", "^1,", "^1 ^2", "^1 |"),
        *("latest,<2", ">=" + "9" * 10, "^1 || " * 10 + "^1", ",".join(["^1"] * 80), "^1\n"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, VersionRequirement)


@pytest.mark.parametrize(("text", "exact"), [("1.2.0", True), ("1.x", False), ("*", False), ("1.2.0 || 1.3.0", False)])
def test_only_one_whole_version_is_exact(text: str, exact: bool) -> None:
    assert is_exact(text) is exact
