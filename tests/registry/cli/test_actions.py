"""The actions for GitHub, run as its runner runs them: installed by their own step, against a real registry."""

import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.action_runner import ActionRunner, StepFailed, steps
from support.commands import Done
from support.identity_issuer import IdentityIssuer
from support.publishing import Registry
from support.servers import write_skill
from support.web_server import reply

ROOT = Path(__file__).parents[3]
CHECK = ROOT / "action.yml"
PUBLISH = ROOT / "publish" / "action.yml"
INSTALL = "Install skill-registry"
SECRET = "given-by-the-build-server"


@pytest.fixture(scope="module")
def issuer() -> Iterator[IdentityIssuer]:
    with IdentityIssuer() as running:
        yield running


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, issuer: IdentityIssuer) -> Iterator[Registry]:
    flags = ("--auth-issuer", "closed", "--outbound-allowed-host", issuer.server.host)
    folder, claim = tmp_path_factory.mktemp("registry"), "repository=acme/skills"
    with Registry(folder, *flags) as running:
        place = ("--data-dir", str(running.data_dir), "--json")
        for scope in ("acme", "other"):
            add = ("admin", "publishers", "add", scope, "--issuer", issuer.url, "--claim", claim)
            assert Done(folder, *add, *place).code == 0
        running.http.headers["x-api-key"] = Done(folder, "admin", "keys", "create", *place).json["key"]
        yield running


@pytest.fixture(scope="module")
def temp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a job in which the action has installed the command. The names of folders may have spaces."""
    folder = tmp_path_factory.mktemp("a job")
    ActionRunner(folder, folder).run(PUBLISH, {"registry": "unused"}, {}, INSTALL)
    yield folder
    shutil.rmtree(folder / "skill-registry")


@pytest.fixture
def job(tmp_path: Path, temp: Path) -> ActionRunner:
    return ActionRunner(tmp_path, temp)


def identity(issuer: IdentityIssuer, **claims: str) -> dict[str, str]:
    """Return the environment of a job that may get an identity token, which the issuer hands out."""
    number = secrets.token_hex(4)
    token = json.dumps({"count": 1, "value": issuer.token(**claims)}).encode()
    issuer.server.answers[f"/idtoken/{number}?api-version=2.0&audience=skill-registry"] = reply(token)
    url = f"{issuer.url}/idtoken/{number}?api-version=2.0"
    return {"ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": SECRET}


def publish(job: ActionRunner, registry: Registry, env: dict[str, str], /, **inputs: str) -> str:
    return job.run(PUBLISH, {"registry": registry.url, "scope": "acme"} | inputs, env, "Publish")


def read(registry: Registry, skill_id: str) -> httpx.Response:
    return registry.http.get(f"/api/v1/skills/{skill_id}")


def is_signed_out(job: ActionRunner) -> bool:
    file = job.temp / "skill-registry-login" / "skill-registry" / "logins.json"
    return not file.exists() or json.loads(file.read_bytes()) == {}


def test_a_workflow_publishes_without_a_secret(job: ActionRunner, registry: Registry, issuer: IdentityIssuer) -> None:
    write_skill(job.workspace / "my skills", "pdf-action", "Reads documents with care.")
    said = publish(job, registry, identity(issuer), path="my skills/pdf-action")
    shown = read(registry, "acme/pdf-action")
    assert shown.json()["data"]["publisher"]["run_id"] == "987654"
    assert is_signed_out(job)
    assert SECRET not in said
    assert "eyJ" not in said  # how a token begins


def test_what_is_not_registered_publishes_nothing(
    job: ActionRunner, registry: Registry, issuer: IdentityIssuer
) -> None:
    write_skill(job.workspace, "not-ours", "Is of another repository.")
    for env in (identity(issuer, repository="evil/skills"), identity(issuer, event_name="pull_request_target")):
        with pytest.raises(StepFailed, match="The identity token is refused"):
            publish(job, registry, env, path="not-ours")
    with pytest.raises(StepFailed, match="id-token: write"):
        publish(job, registry, {}, path="not-ours")
    assert read(registry, "acme/not-ours").status_code == 404
    assert is_signed_out(job)


def test_a_package_that_is_refused_fails_the_step_and_signs_out(
    job: ActionRunner, registry: Registry, issuer: IdentityIssuer
) -> None:
    write_skill(job.workspace, "twice", "Is published once.")
    publish(job, registry, identity(issuer), path="twice")
    (job.workspace / "twice" / "SKILL.md").write_text(
        "---\nname: twice\ndescription: Is published once.\nversion: 1.0.0\n---\n# Other\n"
    )
    for path, words in (("twice", "1.0.0"), ("nothing", "nothing")):
        with pytest.raises(StepFailed, match=words):
            publish(job, registry, identity(issuer), path=path)
        assert is_signed_out(job)


def test_the_workflow_chooses_a_scope_if_there_are_several(
    job: ActionRunner, registry: Registry, issuer: IdentityIssuer
) -> None:
    write_skill(job.workspace, "of-other", "Is in the other scope.")
    with pytest.raises(StepFailed, match="acme, other"):
        publish(job, registry, identity(issuer), path="of-other", scope="")
    publish(job, registry, identity(issuer), path="of-other", scope="other")
    assert read(registry, "other/of-other").status_code == 200


@pytest.mark.parametrize("text", ["$(touch run)", '"; touch run; "', "`touch run`", "--help", "-x", "a\ntouch run"])
def test_inputs_are_texts_and_no_code(job: ActionRunner, registry: Registry, issuer: IdentityIssuer, text: str) -> None:
    env = identity(issuer)
    for inputs in ({"path": text}, {"scope": text}, {"registry": text}):
        with pytest.raises(StepFailed):
            publish(job, registry, env, **inputs)
    with pytest.raises(StepFailed):
        job.run(CHECK, {"path": text}, {}, "Check")
    assert list(job.workspace.iterdir()) == []


def test_the_action_that_checks_fails_for_what_cannot_be_published(job: ActionRunner) -> None:
    write_skill(job.workspace / "good", "fine", "Is fine.")
    assert job.run(CHECK, {"path": "good"}, {}, "Check")
    (job.workspace / "bad").mkdir()
    (job.workspace / "bad" / "SKILL.md").write_text("# No front matter\n")
    with pytest.raises(StepFailed, match="bad"):
        job.run(CHECK, {"path": "."}, {}, "Check")
    with pytest.raises(StepFailed, match="1 error, 1 warning"):
        job.run(CHECK, {"path": ".", "sarif": "out.sarif"}, {}, "Check")
    assert json.loads((job.workspace / "out.sarif").read_bytes())["runs"]


def test_both_actions_install_the_same(temp: Path) -> None:
    check, publish = (steps(action, {"registry": "x"} if action is PUBLISH else {})[0] for action in (CHECK, PUBLISH))
    assert (check.name, publish.name) == (INSTALL, INSTALL)
    assert publish.script.replace("/..", "") == check.script
    assert (temp / "skill-registry" / "bin" / "skill-registry").exists()
