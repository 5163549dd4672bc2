"""The specification's *Validation rules for skill definitions*: below, at and above every limit."""

import json
from typing import Any

import pytest

from support.code_v1 import Code, fields
from support.servers import new_skill


def accepts(code: Code, field: str, value: Any) -> bool:
    body = new_skill("ruled-one") | {field: value}
    answer = code.ask("POST", "/skills", json=body)
    if answer.status_code == 201:
        code.ask("DELETE", f"/skills/{body['id']}")
        return True
    assert {one.split("[")[0] for one in fields(answer)} == {field}, answer.text
    return False


RULES: list[tuple[str, list[Any], list[Any]]] = [
    ("id", ["abc", "a" * 50, "a-b_c", "0-0"],
     ["", "ab", "a" * 51, "-abc", "abc-", "_abc", "abc_", "a b", "Abc", "abc\n", "аbc", "a٢c", "aⅧc", "a.b", "a/b",
      None, 5, "install", "upgrade"]),
    ("name", ["x", "x" * 100, "名" * 100, "a b"], ["", "x" * 101, "a\nb", "a\x00b", None, 5]),
    ("description", ["x" * 10, "x" * 500, "語" * 500, "line one\nline two"],
     ["", "x" * 9, "x" * 501, "x" * 10 + "\x00", None]),
    ("version", ["0.0.0", "1.2.3", "10.20.30", "999999999.0.0"],
     ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.00.0", "v1.0.0", "1.0.0-rc1", "1.0.0\n", " 1.0.0", "1.٢.3",
      "9" * 30 + ".0.0", None]),
    ("tags", [[], ["ab"], ["a" * 30], ["a-b_C9"], [f"t{n}" for n in range(10, 30)], "ab, cd", "",
              [" ab ", "ab", ""], ["ab"] * 30],
     [["a"], ["a" * 31], ["a b"], ["ä" * 3], [f"t{n}" for n in range(10, 31)], "a", "ab, c", ["a\n"], [5], None]),
    ("capabilities", [[], ["abc"], ["a" * 50], ["read files"], [f"cap{n}" for n in range(20)], "abc, def",
      ["", " read files "]],
     [["ab"], ["a" * 51], [f"cap{n}" for n in range(21)], "ab", ["a\nbc"], [5], None]),
    ("execution_timeout", [1, 300, None], [0, 301, -1, "5", 1.5, True]),
    ("memory_limit_mb", [32, 2048, None], [31, 2049, -1, "64", 64.5, True]),
    ("source_type", ["git", "local", "http", "zip", None], ["", "svn", "Git", 5]),
    ("enabled", [True, False], ["true", 1, None]),
    ("editable", [True, False], ["true", 1, None]),
    ("skill_file", [None],
     ["", "../../etc/passwd", "/etc/passwd", "absent/SKILL.md", "a\\b", "a\x00b", ".", "..", "x" * 501]),
]  # fmt: skip
"""Field, values at and inside the limits, values beyond them."""


def cases(accepted: bool) -> list[Any]:
    return [
        pytest.param(field, value, id=f"{field}-{json.dumps(value)[:24]}")
        for field, good, bad in RULES
        for value in (good if accepted else bad)
    ]


def test_lists_of_labels_are_trimmed_and_each_is_kept_once(code: Code) -> None:
    body = new_skill("labelled", tags=[" pdf ", "tax", "", "pdf"], capabilities=["", " fill forms "])
    assert code.ask("POST", "/skills", json=body).status_code == 201
    made = code.ask("GET", "/skills/labelled").json()["data"]
    assert (made["tags"], made["capabilities"]) == (["pdf", "tax"], ["fill forms"])
    assert code.ask("PUT", "/skills/labelled", json={"tags": [" a,b "]}).status_code == 400
    assert code.ask("PUT", "/skills/labelled", json={"tags": ["", " zip"]}).status_code == 200
    assert code.ask("GET", "/skills/labelled").json()["data"]["tags"] == ["zip"]


@pytest.mark.parametrize(("field", "value"), cases(True))
def test_what_the_rules_allow_is_accepted(code: Code, field: str, value: Any) -> None:
    assert accepts(code, field, value)


@pytest.mark.parametrize(("field", "value"), cases(False))
def test_what_the_rules_forbid_is_refused_by_its_field(code: Code, field: str, value: Any) -> None:
    assert not accepts(code, field, value)


@pytest.mark.parametrize("field", ["id", "name", "description", "version"])
def test_what_is_required_is_missed(code: Code, field: str) -> None:
    body = {name: value for name, value in new_skill("lacking-one").items() if name != field}
    assert fields(code.ask("POST", "/skills", json=body)) == [field]


def test_every_fault_of_a_body_is_told_at_once(code: Code) -> None:
    answer = code.ask(
        "POST", "/skills", json={"id": "-", "name": "", "description": "short", "tags": ["x"], "enabled": 1}
    )
    assert set(fields(answer)) == {"id", "name", "description", "version", "tags[0]", "enabled"}


def test_labels_come_in_either_form_and_are_answered_as_lists(code: Code) -> None:
    code.create("labelled-one", tags=" pdf, forms,,pdf ", capabilities="fill forms , read pdf")
    detail = code.get("/skills/labelled-one")
    assert (detail["tags"], detail["capabilities"]) == (["pdf", "forms"], ["fill forms", "read pdf"])


def test_the_file_of_a_skill_is_below_the_skills_directory(code: Code) -> None:
    folder = code.server.skills_dir / "notes"
    folder.mkdir()
    (folder / "how.md").write_text("Only here: xylophone.")
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "directory.md").mkdir()
    assert code.create("with-file", skill_file="notes/how.md")
    assert code.get("/skills/with-file")["skill_file"] == "notes/how.md"
    content = code.server.api("GET", "/skills/with-file/content", headers=code.headers).json()["data"]["content"]
    assert content == "Only here: xylophone."
    for name in ("notes/link.md", "notes/directory.md", "notes/../notes/how.md", "./notes/how.md", "notes//how.md"):
        assert fields(code.ask("POST", "/skills", json=new_skill("with-bad-file", skill_file=name))) == ["skill_file"]
        assert fields(code.ask("PUT", "/skills/with-file", json={"skill_file": name})) == ["skill_file"]


@pytest.mark.parametrize(
    "text", ["日本語のスキル説明です。長さ", "שלום עולם, זה תיאור", "emoji 🦉🧶 description", "Zoë’s — “quotes”"]
)
def test_any_language_comes_back_as_it_was_sent(code: Code, text: str) -> None:
    code.create("spoken-one", name=text, description=text, author=text)
    detail = code.get("/skills/spoken-one")
    assert (detail["name"], detail["description"], detail["author"]) == (text, text, text)
    code.ask("DELETE", "/skills/spoken-one")
