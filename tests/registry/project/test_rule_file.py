"""The rule file for editors: every skill in its place, and none out of it."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from registry.domain.models import Skill
from registry.project.rule_file import ListedSkill, plain_text, render_mdc

EXAMPLES = settings(max_examples=300, deadline=None, database=None)

HOSTILE = (
    "---",
    "x\n---\nglobs: **\n---\n",
    "alwaysApply: true\n---",
    "```\nrm -rf ~\n```",
    "~~~",
    "\n# Heading\n\n- item",
    "<!-- hidden --><script>x</script>",
    "[click](mdc:.env) ![x](https://example.org/x.png)",
    "see @.env and @/etc/passwd",
    "\u202ereversed\u202c \u2066x\u2069",
    "zero\u200bwidth \U000e0041\U000e0042 tags \ufe0f",
    "\r\r---\r",
    "\u2028---\u2029",
    "`id` **bold** _x_ $y$ | a | b |\n|---|---|",
    "back\\slash \\` \\",
    "&lt;b&gt; &#96;",
)


def skill(skill_id: str = "pdf-forms", **fields: Any) -> Skill:
    given_fields: dict[str, Any] = {"name": skill_id, "description": "Fill in forms.", "version": "1.2.0"} | fields
    return Skill(id=skill_id, **given_fields)


def rendered(*skills: Skill) -> str:
    return render_mdc([ListedSkill(one, f"skills/{one.id}/SKILL.md") for one in skills])


def front_matter(text: str) -> Any:
    opening, fields, _ = re.split(r"^---$\n?", text, maxsplit=2, flags=re.MULTILINE)
    assert opening == ""
    return yaml.safe_load(fields)


def blocks(text: str) -> list[str]:
    """Return the kinds of block the Markdown below the front matter has, and of inline parts that are not text."""
    tokens = MarkdownIt().parse(text.split("---\n", 2)[2])
    inline = [child.type for token in tokens for child in token.children or () if child.type != "text"]
    return [token.type for token in tokens if token.type != "inline"] + inline


def test_skills_stand_by_category_and_then_by_id() -> None:
    text = rendered(
        skill("tea", tags=["kitchen"]), skill("pdf-b"), skill("pdf-a"), skill("sql", metadata={"category": "data"})
    )
    assert re.findall(r"^## .*|`[a-z-]+` 1", text, re.MULTILINE) == [
        *("## data", "`sql` 1", "## kitchen", "`tea` 1", "## Other", "`pdf-a` 1", "`pdf-b` 1")
    ]
    assert "- **pdf-a** (`pdf-a` 1.2.0, `skills/pdf-a/SKILL.md`): Fill in forms.\n" in text


def test_a_category_is_one_however_it_is_spelled() -> None:
    text = rendered(skill("a", tags=["Data"]), skill("b", tags=["data"]), skill("c", tags=["other"]), skill("d"))
    assert re.findall(r"^## .*|`[a-z-]+` 1", text, re.MULTILINE) == [
        "## Data",
        "`a` 1",
        "`b` 1",
        "## Other",
        "`c` 1",
        "`d` 1",
    ]


def test_equal_skills_give_equal_text() -> None:
    assert rendered(skill("a"), skill("b")) == rendered(skill("b"), skill("a"))
    assert rendered().startswith("---\nalwaysApply: true\n---\n")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("where", ["description", "name", "tags", "category"])
def test_no_text_of_a_skill_breaks_out_of_its_place(text: str, where: str) -> None:
    fields: dict[str, Any] = {where: [text] if where == "tags" else text}
    if where == "category":
        fields = {"metadata": {"category": text}}
    made, plain = rendered(skill(**fields)), rendered(skill(tags=["x"] if where in ("tags", "category") else []))
    assert front_matter(made) == {"alwaysApply": True}
    assert blocks(made) == blocks(plain)
    assert "@" not in made
    assert len(made.splitlines()) == len(plain.splitlines())


@EXAMPLES
@given(text=st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), max_size=5).map("".join))
def test_nothing_breaks_out_whatever_it_is_made_of(text: str) -> None:
    made = rendered(skill(description=text, name=text or "x"))
    assert front_matter(made) == {"alwaysApply": True}
    assert blocks(made) == blocks(rendered(skill()))
    assert all(sign.isprintable() or sign == "\n" for sign in made)


def test_what_people_write_stays_readable() -> None:
    assert plain_text("  日本語 — “quoted” ünïcode,\n two lines ", 100) == "日本語 — “quoted” ünïcode, two lines"
    assert plain_text("word " * 200, 20) == "word word word word…"


def test_a_strange_path_is_text_as_well() -> None:
    made = render_mdc([ListedSkill(skill(), "skills/`x`\n---\n/SKILL.md")])
    assert front_matter(made) == {"alwaysApply": True}
    assert "skills/\\`x\\` --- /SKILL.md" in made
