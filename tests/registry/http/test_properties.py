"""What holds for every text: it comes back as it was sent, and no query breaks search."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.skill_folder import read_skill_folder
from support.embedding_server import EmbeddingServer
from support.servers import RunningServer, new_skill

EXAMPLES = settings(max_examples=60, deadline=None, database=None)
ID = re.compile(r"[a-z0-9][a-z0-9_-]{1,48}[a-z0-9]")
VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")
RESERVED = {"upgrade", "install", "versions", "search", "content", "files", "dependents"}

numbers = itertools.count()
signs = st.characters(exclude_categories=("Cc", "Cs"))
lines = st.characters(exclude_categories=("Cc", "Cs"), include_characters="\n")
labels = st.text("abcXYZ019_-", min_size=2, max_size=30)
skills = st.fixed_dictionaries(
    {
        "name": st.text(signs, min_size=1, max_size=100),
        "description": st.text(lines, min_size=10, max_size=500),
        "author": st.text(signs, max_size=200),
        "tags": st.lists(labels, max_size=5, unique=True),
        "capabilities": st.lists(
            st.text(signs, min_size=3, max_size=50).filter(lambda text: text == text.strip()), max_size=5, unique=True
        ),
        "content": st.text(lines, min_size=1, max_size=2000),
    }
)


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with EmbeddingServer() as provider:
        arguments = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        with RunningServer(tmp_path_factory.mktemp("all"), *arguments, env={"OPENAI_API_KEY": "sk-test"}) as running:
            running.api("POST", "/skills", json=new_skill("pdf-forms"))
            running.wait_for(lambda: running.status()["pending"] == 0)
            yield running


@EXAMPLES
@given(fields=skills)
def test_a_skill_comes_back_as_it_was_sent(server: RunningServer, fields: dict[str, Any]) -> None:
    skill_id = f"property-{next(numbers)}"
    answer = server.api("POST", "/skills", json=new_skill(skill_id) | fields)
    assert answer.status_code == 201, answer.text
    data = server.api("GET", f"/skills/{skill_id}").json()["data"]
    content = fields.pop("content")
    assert {name: data[name] for name in fields} == fields
    assert content.strip() in server.api("GET", f"/skills/{skill_id}/content").json()["data"]["content"]
    read = read_skill_folder(server.skills_dir / skill_id)
    for name in ("description", "author"):
        assert getattr(read, name).strip() == fields[name].strip()
    assert read.tags == fields["tags"]
    assert read.body.strip() == content.strip()


def test_a_fresh_catalog_reads_the_same_skills(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = [
        {"name": "Ünïcode — “quoted”: #1", "description": "Colon: and 'quotes', # hash, and a\nsecond line."},
        {"name": "true", "description": "null values, no: yes and ~ stay what they are"},
        {"name": "1.10", "author": "[brackets] {braces} & *stars*", "tags": ["no", "1e3", "null"]},
        {"name": "日本語の名前", "description": "- dash\n--- three dashes\n... dots", "author": "@at `tick` %"},
    ]
    with RunningServer(tmp_path / "first") as server:
        for number, fields in enumerate(sent):
            answer = server.api("POST", "/skills", json=new_skill(f"fresh-{number}") | fields)
            assert answer.status_code == 201, answer.text
    (tmp_path / "second").mkdir()
    (tmp_path / "first/skills").rename(tmp_path / "second/skills")
    with RunningServer(tmp_path / "second") as server:
        for number, fields in enumerate(sent):
            data = server.api("GET", f"/skills/fresh-{number}").json()["data"]
            assert {name: data[name] for name in fields} == fields


@EXAMPLES
@given(query=st.text(lines, max_size=300), mode=st.sampled_from(["auto", "hybrid", "semantic", "keyword"]))
def test_no_query_breaks_search(hybrid: RunningServer, query: str, mode: str) -> None:
    answer = hybrid.api("POST", "/search", json={"query": query, "mode": mode})
    assert answer.status_code == (200 if query.strip() else 400), answer.text
    if query.strip():
        assert answer.json()["data"]["query"] == query.strip()
        one_line = hybrid.api("GET", "/search", params={"q": query, "mode": mode})
        assert one_line.status_code == (400 if "\n" in query else 200)


@EXAMPLES
@given(skill_id=st.one_of(st.from_regex(ID), st.text(max_size=60), st.text("ab1-_A.\n", max_size=52)))
def test_an_id_is_accepted_exactly_when_the_rule_says_so(server: RunningServer, skill_id: str) -> None:
    valid = ID.fullmatch(skill_id) is not None and skill_id not in RESERVED
    answer = server.api("POST", "/skills", json=new_skill("x") | {"id": skill_id, "name": "Any name"})
    assert answer.status_code in ({201, 409} if valid else {400}), answer.text


@EXAMPLES
@given(version=st.one_of(st.from_regex(VERSION), st.text("01.9-+v \n", max_size=12), st.text(max_size=8)))
def test_a_version_is_accepted_exactly_when_the_rule_says_so(server: RunningServer, version: str) -> None:
    answer = server.api("POST", "/skills", json=new_skill(f"versioned-{next(numbers)}", version=version))
    assert answer.status_code == (201 if VERSION.fullmatch(version) else 400), answer.text
