"""The list of `/v1/skills` as SDKs page through it: to its end, once, in either order."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import BadRequestError, OpenAI

from support.code_v1 import Code, error
from support.servers import RunningServer

IDS = [f"skill-{number:02}" for number in range(7)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Code]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with RunningServer(folder, "--profile", "registry") as server:
        code = Code(server)
        for skill_id in IDS:
            code.create(skill_id)
        yield code


@pytest.fixture
def sdk(filled: Code) -> Iterator[OpenAI]:
    token = filled.headers["Authorization"].removeprefix("Bearer ")
    with OpenAI(base_url=f"{filled.server.url}/v1", api_key=token, max_retries=0) as client:
        yield client


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_the_openai_sdk_lists_to_the_end(sdk: OpenAI, limit: int) -> None:
    assert [skill.id for skill in sdk.skills.list(limit=limit)] == IDS
    assert [skill.id for skill in sdk.skills.list(limit=limit, order="desc")] == IDS[::-1]


def test_the_openai_sdk_reads_a_skill(sdk: OpenAI) -> None:
    skill = next(iter(sdk.skills.list(limit=1)))
    assert (skill.object, skill.name, skill.default_version, skill.latest_version) == (
        "skill",
        "skill 00",
        "1.0.0",
        "1.0.0",
    )


def test_next_page_leads_to_the_end(filled: Code) -> None:
    """The Anthropic SDK sends `next_page` as `page` while `has_more` is true."""
    listed, params = [], {"limit": "3"}
    while True:
        page = filled.ask("GET", "/skills", "/v1", params=params).json()
        listed += [skill["id"] for skill in page["data"]]
        assert (page["object"], page["first_id"], page["last_id"]) == ("list", page["data"][0]["id"], listed[-1])
        assert page["pagination"]["total"] == len(IDS)
        if not page["has_more"]:
            break
        params["page"] = page["next_page"]
    assert (listed, page["next_page"]) == (IDS, None)


def test_a_cursor_holds_while_skills_come_and_go(filled: Code) -> None:
    first = filled.ask("GET", "/skills", "/v1", params={"limit": 3}).json()
    filled.create("late")
    rest = filled.ask("GET", "/skills", "/v1", params={"after": first["last_id"]}).json()
    assert [skill["id"] for skill in rest["data"]] == [*IDS[3:], "late"]
    filled.ask("DELETE", "/skills/late")


def test_an_empty_list_ends(filled: Code) -> None:
    page = filled.ask("GET", "/skills", "/v1", params={"enabled": "false"}).json()
    assert (page["data"], page["has_more"], page["first_id"], page["last_id"]) == ([], False, None, None)


@pytest.mark.parametrize(
    "params",
    [
        {"after": "nobody"},
        {"page": "nobody"},
        {"after": IDS[0], "offset": 1},
        {"order": "desc", "offset": 1},
        {"order": "up"},
        {"after": "x" * 200},
    ],
    ids=str,
)
def test_a_wrong_cursor_is_refused(filled: Code, params: dict[str, str]) -> None:
    assert error(filled.ask("GET", "/skills", "/v1", params=params)) == (400, "VALIDATION_ERROR")


def test_the_sdk_is_told_of_a_wrong_cursor(sdk: OpenAI) -> None:
    with pytest.raises(BadRequestError, match="after"):
        list(sdk.skills.list(after="nobody"))
