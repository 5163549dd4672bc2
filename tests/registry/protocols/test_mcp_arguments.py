"""Arguments of tools as models and their clients send them, which is not always as the definition has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

import pytest

from support.mcp_host import Host
from support.servers import RunningServer, write_skill

TASK = {"query": "zebrawood spoons"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("mcp")
    for number in range(3):
        text = f"Carves zebrawood spoons, {'with great care' if number else 'fast'}, in {number + 3} steps."
        skill = write_skill(
            folder / "skills", f"whittle-{number}", text, f"# Step {number}\n\nCut along grain {number}.\n"
        )
    for name in ("参考/说明 1.md", normalize("NFD", "参考/がく.md"), "Guide.md", "two/guide.md", "two/GUIDE.md"):
        (skill / name).parent.mkdir(exist_ok=True)
        (skill / name).write_text(f"This is {normalize('NFC', name)}.")
    with RunningServer(folder) as server:
        yield Host(server, "whittle-0", {})


def called(host: Host, tool: str, arguments: Any) -> tuple[str, bool, list[str]]:
    """Return the text of a call as a client of today sends it, whether it is an error, and the ids that were found."""
    params = {"name": tool, "arguments": arguments}
    answer = host.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).json()["result"]
    ids = [skill["id"] for skill in answer.get("structuredContent", {}).get("skills", ())]
    return answer["content"][0]["text"], answer["isError"], ids


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"limit": None, "tags": None, "source": None, "max_risk": None, "not": None, "group": None}, 3),
        ({"limit": "", "source": "", "os": "", "tags": ""}, 3),
        ({"limit": "2"}, 2),
        ({"limit": 2.0}, 2),
        ({"limit": "2.0", "max_tokens": "2000", "group": "false"}, 2),
        ({"group": "True", "installed": "true"}, 3),
        ({"tags": "missing"}, 0),
        ({"tags": '["missing"]'}, 0),
        ({"tags": "[]", "source": '["local"]'}, 3),
        ({"not": '{"source": "local"}'}, 0),
        ({"not": {"source": None, "tags": None}}, 3),
        ({"limit": "null"}, 3),
    ],
)
def test_what_can_mean_one_thing_only_is_taken_as_that(host: Host, given: dict[str, Any], found: int) -> None:
    text, is_error, ids = called(host, "search_skills", TASK | {"group": False} | given)
    assert (is_error, len(ids)) == (False, found), text


def test_a_skill_is_read_with_empty_and_spelled_out_arguments(host: Host) -> None:
    given = {"id": "whittle-0", "version": None, "file": "", "offset": "0", "max_tokens": "500"}
    text, is_error, _ = called(host, "get_skill", given)
    assert (is_error, "Cut along grain 0." in text) == (False, True), text


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("search_skills", None, "query: is required"),
        ("search_skills", {}, "query: is required"),
        ("search_skills", {"query": None}, "query: must be text, not null"),
        ("search_skills", TASK | {"limit": "two"}, "limit: must be a whole number, not text"),
        ("search_skills", TASK | {"limit": 2.5}, "limit: must be a whole number without a fraction"),
        ("search_skills", TASK | {"limit": "[" * 9000}, "limit: must be a whole number, not text"),
        ("search_skills", TASK | {"group": 1}, "group: must be true or false, not a whole number"),
        ("search_skills", TASK | {"not": "local"}, "not: must be an object or null, not text"),
        ("get_skill", {"id": 5}, "id: must be text, not a whole number"),
        ("install_skill", {"id": None}, "id: must be text, not null"),
    ],
)
def test_what_is_wrong_is_said_by_the_name_of_the_argument(host: Host, tool: str, given: Any, said: str) -> None:
    assert called(host, tool, given)[:2] == (said, True)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("./参考/说明 1.md", "参考/说明 1.md"),
        (quote("参考/说明 1.md"), "参考/说明 1.md"),
        ("参考\\说明 1.md", "参考/说明 1.md"),
        ("/参考/说明 1.md#usage", "参考/说明 1.md"),
        ("two/../参考/说明 1.md", "参考/说明 1.md"),
        ("参考/がく.md", "参考/がく.md"),
        ("guide.md", "Guide.md"),
        ("two/GUIDE.md", "two/GUIDE.md"),
    ],
)
def test_a_file_is_read_as_a_link_writes_its_path(host: Host, written: str, name: str) -> None:
    assert called(host, "get_skill", {"id": "whittle-2", "file": written})[:2] == (f"This is {name}.", False)


@pytest.mark.parametrize("written", ["two/Guide.md", "../whittle-1/SKILL.md", "参考", "..", "#", "%"])
def test_what_may_be_several_files_or_none_is_refused(host: Host, written: str) -> None:
    text, is_error, _ = called(host, "get_skill", {"id": "whittle-2", "file": written})
    assert (is_error, text.startswith(f"Skill whittle-2 has no file '{written}'. Other files")) == (True, True), text


@pytest.mark.parametrize("written", ["Whittle-2", " whittle-2\n", "whittle-2@1.0.0", "WHITTLE-2@1.0.0"])
def test_a_skill_is_read_by_what_means_its_id(host: Host, written: str) -> None:
    text, is_error, _ = called(host, "get_skill", {"id": written})
    assert (is_error, "Cut along grain 2." in text) == (False, True), text


def test_what_is_no_id_is_answered_with_similar_ones(host: Host) -> None:
    for tool, written in (
        ("get_skill", "Whittle 2 (1.0.0)"),
        ("install_skill", "whittle@1.0.0"),
        ("get_skill", "木彫り"),
    ):
        text, is_error, _ = called(host, tool, {"id": written})
        assert (is_error, text.startswith(f"Skill '{written.lower()}' not found. ")) == (True, True), text
        assert ("Similar: whittle" in text) == ("hittle" in written), text
    assert "Version '2.0.0' of skill 'whittle-2' not found" in called(host, "get_skill", {"id": "whittle-2@2.0.0"})[0]
