"""Tags and capabilities as one text: it is refused before it costs much."""

import json

import pytest

from registry.domain.models import NewSkill, split_labels
from registry.errors import RegistryError
from registry.parsing.strict_json import decode
from support.cost import cpu_seconds
from support.servers import new_skill

TEXTS = {
    "different": ",".join(f"c{number}" for number in range(130_000)),
    "equal": "ab," * 340_000,
    "empty": "," * 1_000_000,
}


@pytest.mark.parametrize("field", ["tags", "capabilities"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_very_many_labels_is_refused_in_little_time(text: str, field: str) -> None:
    body = json.dumps(new_skill("hello", **{field: TEXTS[text]})).encode()

    def refused() -> None:
        with pytest.raises(RegistryError, match=field):
            decode(body, NewSkill)

    assert cpu_seconds(refused) < 0.5  # it was 1.4 s


def test_labels_are_trimmed_and_each_is_there_once() -> None:
    assert split_labels(" pdf, forms,,pdf , ") == ["pdf", "forms"]
