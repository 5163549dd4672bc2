"""Which versions a requirement admits."""

import msgspec
import pytest

from registry.domain.version_requirement import VersionRequirement, admits, highest

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
    ],
)
def test_a_requirement_admits_the_versions_it_names(requirement: str | None, admitted: list[str]) -> None:
    assert [version for version in VERSIONS if admits(requirement, version)] == admitted
    assert highest(requirement, VERSIONS) == (admitted[-1] if admitted else None)


def test_versions_compare_as_numbers() -> None:
    assert highest("^1", ["1.9.0", "1.10.0", "1.2.0"]) == "1.10.0"


@pytest.mark.parametrize("text", ["", "1", "1.2", "v1.2.0", "^", "^1.2.3.4", "^01", ">=1.0.0", "1.x", "latest"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, VersionRequirement)
