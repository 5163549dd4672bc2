from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.parsing.frontmatter import MAX_BLOCK, FrontMatterError, read

GOOD = "---\nname: pdf-forms\ndescription: Fill PDF forms.\n---\n\n# PDF forms\n"

HOSTILE = {
    "5,000 brackets": "---\nname: " + "[" * 5000 + "\n---\n",
    "5,000 dashes": "---\n" + "- " * 5000 + "\n---\n",
    "5,000 question marks": "---\n" + "? " * 5000 + "\n---\n",
    "aliases": "---\na: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(500)) + "---\n",
    "a python tag": "---\nname: !!python/object/apply:os.system ['true']\n---\n",
    "two documents": "---\nname: a\n--- b\n---\n",
    "a key that is a list": "---\n? [a]\n: b\n---\n",
    "a list": "---\n- name\n---\n",
    "a block of 1 MB": "---\n" + "name: a\n" * 130_000 + "---\n",
    "one line of 1 MB": "---\ndescription: " + "x" * 1_000_000 + "\n---\n",
    "30,000 empty lines": "---" + "\n" * 30_000,
    "a million spaces": "---" + " " * 1_000_000,
    "a character YAML refuses": "---\nname: a\x80b\n---\n",
    "half a surrogate pair": "---\nname: \ud800\n---\n",
    "a repeated key": "---\nname: a\nname: b\n---\n",
    "an unquoted colon": "---\nname: a: b\n---\n",
    "no front matter": "# Title\n",
    "a blank line before": "\n" + GOOD,
    "nothing": "",
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("text", [GOOD, "\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace("---\n", "---  \n")])
def test_fields_and_body_are_read(text: str, strict: bool) -> None:
    found = read(text, strict=strict)
    assert found.fields == {"name": "pdf-forms", "description": "Fill PDF forms."}
    assert found.body.strip() == "# PDF forms"
    assert found.warnings == []


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("1.10", "1.10"),
        ("no", "no"),
        ("~", "~"),
        ("", ""),
        ("2024-01-01", "2024-01-01"),
        ("0x1F", "0x1F"),
        ("'yes'  # comment", "yes"),
        (">-\n  one\n  two", "one two"),
        ("|\n  one\n\n  two\n", "one\n\ntwo\n"),
        ("[a, 1, true]", ["a", "1", "true"]),
        ("{a: {b: [1]}}", {"a": {"b": ["1"]}}),
        ("\n- a\n- b", ["a", "b"]),
    ],
)
def test_every_scalar_stays_text(line: str, value: object) -> None:
    assert read(f"---\nversion: {line}\n---\n", strict=True).fields == {"version": value}


@pytest.mark.parametrize("case", HOSTILE)
def test_strict_refuses_and_lenient_reads_on(case: str) -> None:
    with pytest.raises(FrontMatterError) as refusal:
        read(HOSTILE[case], strict=True)
    assert refusal.value.field
    assert read(HOSTILE[case]).warnings


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("---\nname: a\nmetadata:\n  x: *y\n---\n", "metadata.x"),
        ("---\nname: a\nmetadata:\n  x: 1\n  x: 2\n---\n", "metadata.x"),
        ("---\ntags: !!set {a}\n---\n", "tags"),
        ("# none", "SKILL.md"),
    ],
)
def test_a_refusal_names_the_field(text: str, field: str) -> None:
    with pytest.raises(FrontMatterError) as refusal:
        read(text, strict=True)
    assert refusal.value.field == field


@pytest.mark.parametrize(("depth", "fits"), [(8, True), (9, False)])
def test_nesting_is_bounded(depth: int, fits: bool) -> None:
    text = "---\na: " + "[" * (depth - 1) + "]" * (depth - 1) + "\n---\n"
    assert (read(text).warnings == []) is fits


@pytest.mark.parametrize(("size", "fits"), [(MAX_BLOCK, True), (MAX_BLOCK + 1, False)])
@pytest.mark.parametrize("letter", ["a", "é"])
def test_the_size_of_a_block_is_bounded_in_bytes(size: int, fits: bool, letter: str) -> None:
    text = f"---\nabc: {letter * ((size - 6) // len(letter.encode()))}\n---\n"
    if fits:
        assert read(text, strict=True).fields
    else:
        text = text.replace("abc", "abcd")
        with pytest.raises(FrontMatterError):
            read(text, strict=True)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("---\nname: a\ndescription: Use when: b\n---\nB", {"name": "a", "description": "Use when: b"}),
        ("---\nname: a\nhint: [x] [y]\n---\nB", {"name": "a", "hint": "[x] [y]"}),
        ("---\nname: a\ndescription: b\n\n# Title\nB", {"name": "a", "description": "b"}),
        ("---\nname: a\ndescription: b", {"name": "a", "description": "b"}),
        (
            "---\nname: a\ndescription: |\nb c\nd.\nversion: 1\n---\nB",
            {"name": "a", "description": "b c d.", "version": "1"},
        ),
        ("---\nname: a\ndescription: b\nand c\n---\nB", {"name": "a", "description": "b and c"}),
        ("---\nName: a\nDESCRIPTION: b\nOther: c\n---\nB", {"name": "a", "description": "b", "Other": "c"}),
        ("name: a\ndescription: b\n---\nB", {"name": "a", "description": "b"}),
        ("\n\n---\nname: a\n---\nB", {"name": "a"}),
        ("<!-- from somewhere -->\n---\nname: a\n---\nB", {"name": "a"}),
        ("---\nname: a\ndescription: |\n  b\n  ---\nB", {"name": "a", "description": "b\n"}),
        ("---\nname: a\n\tdescription: b\nversion: 1\n---\nB", {"name": "a description: b", "version": "1"}),
        ("---\nname: 'it's'\ntags:\n- x\nm:\n  n: o\n---\nB", {"name": "it's", "tags": ["x"], "m": {"n": "o"}}),
        ("---\nname: a\n<<<<<<< ours\nversion: 1\n=======\n---\nB", {"name": "a", "version": "1"}),
        ("---\nname: a\nname: b\n---\nB", {"name": "a"}),
        ("---\nname: *a\n---\nB", {"name": "*a"}),
        ("---\nx: a: b\n\n# comment\nname: a\n---\nB", {"x": "a: b", "name": "a"}),
    ],
)
def test_what_is_broken_is_recovered_with_a_warning(text: str, fields: dict[str, object]) -> None:
    found = read(text)
    assert found.fields == fields
    assert found.body in ("B", "# Title\nB", "")
    assert found.warnings


def test_small_letters_win() -> None:
    assert read("---\nName: b\nname: a\n---\n", strict=True).fields == {"Name": "b", "name": "a"}


def test_of_several_keys_for_a_field_the_first_counts_and_is_told() -> None:
    document = read("---\n" + "Name: a\nNAME: b\n" * 1000 + "---\n")
    assert document.fields["name"] == "a"
    assert [defect.line for defect in document.defects if defect.field == "name"] == [2]


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("# T\n\nBefore.\n\n---\nname: a\ndescription: b\n---\nB", {"name": "a", "description": "b"}, "B"),
        ("```yaml\n---\nname: a\ndescription: b\n---\nB", {"name": "a", "description": "b"}, "B"),
        ("\n\nname: a\ndescription: b\n---\nB", {"name": "a", "description": "b"}, "B"),
        ("---\nname: a\nm:\n\tn: 1\n\to:\n\t\t- p\n---\nB", {"name": "a", "m": {"n": "1", "o": ["p"]}}, "B"),
        (
            "---\nname: a\ndescription: one\n\n  Keywords: x\n---\nB",
            {"name": "a", "description": "one Keywords: x"},
            "B",
        ),
        ("---\nname: a\ndescription: @b\n---\nB", {"name": "a", "description": "@b"}, "B"),
        ('---\nname: a\ndescription: "b\n---\nB', {"name": "a", "description": "b"}, "B"),
        (f"---\nname: a\nn: {'x' * 20_000}\n---\nB", {"name": "a", "n": "x" * 20_000}, "B"),
    ],
)
def test_what_people_would_read_is_read(text: str, fields: dict[str, object], body: str) -> None:
    found = read(text)
    assert (found.fields, found.body) == (fields, body)
    assert found.warnings


def test_front_matter_in_an_example_is_no_front_matter() -> None:
    text = "# How to write a skill\n\n" + "Some text.\n" * 40 + "```\n---\nname: a\ndescription: b\n---\n```\n"
    assert read(text).fields == {}


@pytest.mark.parametrize(
    ("written", "value", "warned"),
    [
        ("Writes for the #deployments channel", "Writes for the #deployments channel", True),
        ("#deployments", "#deployments", True),
        ("one\n  two #3", "one two #3", True),
        ("'quoted' # comment", "quoted", False),
        ("a#b", "a#b", False),
    ],
)
def test_a_description_is_not_cut_at_a_hash(written: str, value: str, warned: bool) -> None:
    found = read(f"---\nname: a # comment\ndescription: {written}\nversion: 1 # comment\n---\n", strict=True)
    assert found.fields == {"name": "a", "description": value, "version": "1"}
    assert bool(found.warnings) == warned


@pytest.mark.parametrize(
    ("written", "warned"),
    [
        ('"one\ntwo \\"three\\""', True),
        ("'one\ntwo'", True),
        ('"one\r\ntwo"', True),
        ('"one\n\n  two"', False),
        ("'one\n  two'", False),
        (">\n  one\n  two", False),
        ("one\n  two", False),
        ('"one"\n# comment', False),
    ],
)
def test_quoted_lines_at_the_margin_are_read_and_warned_of(written: str, warned: bool) -> None:
    found = read(f"---\nname: a\ndescription: {written}\n---\n", strict=True)
    assert str(found.fields["description"]).startswith("one")
    assert found.warnings == (["the description has lines that are not indented, which some agents refuse"] * warned)
    assert [(defect.field, defect.line) for defect in found.defects] == [("description", 3)] * warned


@pytest.mark.parametrize(
    ("lines", "advice", "line"),
    [
        ("description: Use when: b", "put the value of `description` in quotes: it contains a colon", 3),
        ("description: b\nhint: [x] [y]", "put the value of `hint` in quotes, or close every bracket", 4),
        ("description: @b", "put the value of `description` in quotes: it begins with", 3),
        ('description: "b', "put the value of `description` in quotes that are closed", 3),
        ("description: &b c", "put the value of `description` in quotes: & and *", 3),
        ("m:\n\tn: 1", "indent with spaces instead of tabs", 4),
        ("description: a #1\n  b", "` #` begins a comment", 3),
    ],
)
def test_authors_are_told_what_to_do(lines: str, advice: str, line: int) -> None:
    with pytest.raises(FrontMatterError) as refusal:
        read(f"---\nname: a\n{lines}\n---\n", strict=True)
    assert advice in refusal.value.message
    assert refusal.value.line == line
    assert "mapping values" not in refusal.value.message


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_toml_is_told_of_and_no_text(newline: str) -> None:
    toml = newline.join(("+++", 'name = "pdf"', 'description = "Fill forms."', "+++", "", "# PDF", ""))
    found = read(toml)
    assert (found.fields, found.body) == ({}, f"# PDF{newline}")
    assert found.warnings == ["the front matter is not readable: it is TOML between lines of +++, and agents read YAML"]
    with pytest.raises(FrontMatterError, match=r"write the fields as YAML.* in place of"):
        read(toml, strict=True)
    open_ended = f"+++ b/file{newline}+added{newline}"
    assert read(open_ended).body == open_ended


def test_at_most_500_fields_are_recovered() -> None:
    found = read("---\n" + "".join(f"k{number}: a: b\n" for number in range(600)) + "---\nBody\n")
    assert (len(found.fields), found.body) == (500, "Body\n")
    assert "not understood of the front matter: 100 lines" in found.warnings


@pytest.mark.parametrize("text", ["# Title\n\nText: more\n", "", "---\n\n# Title\n\n---\n\nMore\n", "text"])
def test_text_without_front_matter_is_all_body(text: str) -> None:
    found = read(text)
    assert (found.fields, found.body) == ({}, text)


@given(st.text(st.sampled_from("-\n\r:# abn\"'[]{}|>&*!\t\ufeff,?"), max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = read("---\n" + text)
    with suppress(FrontMatterError):
        assert read("---\n" + text, strict=True) == found
