import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from registry.parsing.yaml_text import Value, dump_block, parse

TEXTS = st.text(st.sampled_from("aZ09 :#-'\"\n\t,.{}[]&*!|>%@`~?=<\\+_/()yesnotrul\u00e9\u2028\U0001f600"), max_size=14)
FIELDS = st.dictionaries(
    st.sampled_from(["name", "description", "allowed-tools", "metadata", "é"]),
    st.one_of(TEXTS, st.lists(TEXTS, max_size=3), st.dictionaries(st.sampled_from(["version", "tags"]), TEXTS)),
    min_size=1,
)


@given(FIELDS)
@example({"description": "a" * 5_000, "metadata": {"version": "1.0"}})
@example({"description": "\U0001f600 smiles"})
@example({"description": "first\nsecond: line\n"})
def test_what_is_written_reads_back(fields: dict[str, Value]) -> None:
    node, repeated = parse(dump_block(fields))
    assert node is not None
    assert (node.value, repeated) == (fields, [])


@given(st.text(st.characters(codec="ascii"), max_size=20))
def test_ascii_is_written_as_by_the_slower_dumper(text: str) -> None:
    fields: dict[str, Value] = {"description": text, "metadata": {"version": text}}
    slower = dump_block(fields | {"list": ["x"]})
    assert slower == dump_block(fields) + "list:\n  - x\n"
    assert yaml.safe_load(dump_block(fields)) == fields
