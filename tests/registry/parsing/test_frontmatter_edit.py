import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry.parsing.frontmatter import FrontMatterError, read
from registry.parsing.frontmatter_edit import patch, render, with_body
from registry.parsing.yaml_text import Value

TIDY = """---
# what it is
name: pdf-forms   # the folder's name
description: "Fill forms: quickly."
metadata:
    version: '1.0.0'  # by hand
    notes: |
        one

        two

# the end
---

# PDF forms
---
"""
JSON_LIKE = '---\nmetadata: {"bot": {"always": true}, "version": "1", "tags": ["a"]}\ntags: [a, b]  # few\n---\nB\n'

FILES = [
    TIDY,
    TIDY.replace("\n", "\r\n"),
    "\ufeff" + TIDY,
    JSON_LIKE,
    "---\nname: a\ndescription: Use when: b\n---\nB\n",
    "---\ndescription: >-\n  b\n\nmetadata:\n  version:\n    - 1\n  # c\nname:\n---\n",
    "---\nname: a\nname: b\nversion: 1\nname: c\n---\n",
    "---\n{name: a, version: 1, version: 2}\n---\nB\n",
    "---\n{Name: a, description: b}\n---\nB\n",
    "---\n# nothing yet\n---\nB\n",
    "# Title\n\nB\n",
]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        "no",
        "1.10",
        "a: b",
        "- a",
        "# a",
        "*a",
        "&a",
        "!a",
        " a",
        "a ",
        "a\n\nb\n",
        "\u2028",
        "\r\n",
        "\t",
        "'",
        '"',
        "---",
    ]
)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.dictionaries(st.sampled_from(["name", "description", "version", "tags"]), VALUES)
CHANGES = st.dictionaries(
    st.sampled_from(["name", "description", "tags", "metadata.version", "metadata.tags"]), st.none() | VALUES
)


def after(text: str, changes: dict[str, Value | None]) -> list[tuple[str, str]]:
    """Return the pairs of lines that differ."""
    before, patched = text.split("\n"), patch(text, changes).split("\n")
    assert len(before) == len(patched)
    return [(old, new) for old, new in zip(before, patched, strict=True) if old != new]


@given(FIELDS, st.text(max_size=40))
def test_what_is_rendered_reads_back(fields: dict[str, Value], body: str) -> None:
    found = read(render(fields, body), strict=True)
    assert found.fields == fields
    assert found.body.rstrip("\n") == body.strip("\r\n")


@given(st.sampled_from(FILES), CHANGES)
@example(TIDY, {"name": "\n"})
@example(TIDY, {"metadata.version": "ends in blank lines\n\n"})
def test_what_is_patched_reads_back(text: str, changes: dict[str, Value | None]) -> None:
    found = read(patch(text, changes))
    metadata = found.fields.get("metadata", {})
    assert isinstance(metadata, dict)
    for key, value in changes.items():
        place = metadata if "." in key else found.fields
        assert place.get(key.removeprefix("metadata.")) == value
    assert found.body == read(text).body


@pytest.mark.parametrize(
    ("text", "changes", "differing"),
    [
        (TIDY, {"name": "pdf"}, [("name: pdf-forms   # the folder's name", "name: pdf   # the folder's name")]),
        (TIDY, {"metadata.version": "1.10"}, [("    version: '1.0.0'  # by hand", "    version: '1.10'  # by hand")]),
        (JSON_LIKE, {"tags": ["c"]}, [("tags: [a, b]  # few", 'tags: ["c"]  # few')]),
        (
            JSON_LIKE,
            {"metadata.version": "2"},
            [(JSON_LIKE.split("\n")[1], JSON_LIKE.split("\n")[1].replace('"1"', '"2"'))],
        ),
    ],
)
def test_only_the_value_changes(text: str, changes: dict[str, Value | None], differing: list[tuple[str, str]]) -> None:
    assert after(text, changes) == differing
    assert after(text, {}) == []


def test_new_fields_come_last_and_removed_ones_leave_no_line() -> None:
    patched = patch(TIDY, {"license": "MIT", "metadata.notes": None, "metadata.tags": "a, b", "description": None})
    assert patched == (
        "---\n# what it is\nname: pdf-forms   # the folder's name\nmetadata:\n    version: '1.0.0'  # by hand\n"
        "    tags: a, b\n\n# the end\nlicense: MIT\n---\n\n# PDF forms\n---\n"
    )


@pytest.mark.parametrize(
    ("changes", "metadata"),
    [
        ({"metadata.bot": None}, '{"version": "1", "tags": ["a"]}'),
        ({"metadata.tags": None}, '{"bot": {"always": true}, "version": "1"}'),
        ({"metadata.new": "x"}, '{"bot": {"always": true}, "version": "1", "tags": ["a"], "new": "x"}'),
    ],
)
def test_a_mapping_on_one_line_stays_on_it(changes: dict[str, Value | None], metadata: str) -> None:
    assert patch(JSON_LIKE, changes).split("\n")[1] == f"metadata: {metadata}"


def test_the_last_name_within_metadata_takes_it_along() -> None:
    text = "---\nname: a\nmetadata:\n  x: 1\n  # about x\n---\n"
    assert patch(text, {"metadata.x": None}) == "---\nname: a\n---\n"


def test_line_ends_of_the_file_are_kept() -> None:
    patched = patch(TIDY.replace("\n", "\r\n"), {"license": "MIT", "name": "one\ntwo"})
    assert "\n" not in patched.replace("\r\n", "")


def test_a_file_without_front_matter_gets_some() -> None:
    assert patch("# Title\n", {"name": "a"}) == "---\nname: a\n---\n\n# Title\n"
    assert patch("# Title\n", {"name": None, "metadata.x": None}) == "# Title\n"


def test_a_change_that_would_not_read_back_is_refused() -> None:
    with pytest.raises(FrontMatterError):
        patch("---\nname: a\n\n# Title\n", {"name": None})
    with pytest.raises(FrontMatterError):
        patch(TIDY, {"name": "\ud800"})


@pytest.mark.parametrize("text", [*FILES, "---\nname: a\n---", "---\nname: a\n\n# Title\n", ""])
@pytest.mark.parametrize("body", ["# New\n\n---\n\nText", "x: y\n", ""])
def test_a_new_body_leaves_the_front_matter(text: str, body: str) -> None:
    found = read(with_body(text, body))
    assert found.fields == read(text).fields
    assert found.body.replace("\r\n", "\n").strip() == body.strip()


def test_a_body_that_would_become_front_matter_is_refused() -> None:
    with pytest.raises(FrontMatterError):
        with_body("# Title\n", "---\nname: a\n---\n")
