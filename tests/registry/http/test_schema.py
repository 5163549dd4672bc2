"""The service against its own OpenAPI document: no server error, no answer the document does not declare.

The long run, 10,000 requests and more of each profile: ENDURANCE=10 pytest tests/http/test_schema.py
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.embedding_server import EmbeddingServer
from support.endurance import times
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill

LONG = times(1) > 1
TESTS = Path(__file__).parents[2]
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)


pytestmark = pytest.mark.endurance

ONLY_REGISTRY = (
    "^/(auth|metrics|packages|api/code)|^/api/v1/(auth|audit|registry/(publish|index|skills/|reviews|advisories))"
)
"""What registry mode serves by handlers the local one lacks, each once."""


@pytest.fixture
def provider() -> Iterator[dict[str, Any]]:
    """What gives a server a model, so that no search has to say that there is none."""
    with EmbeddingServer() as running:
        yield {
            "args": ("--embedding-provider", "hosted", "--embedding-base-url", running.url),
            "env": {"OPENAI_API_KEY": "sk-test"},
        }


METHODS = {"get", "post", "put", "delete"}


def check(server: RunningServer, folder: Path, examples: int, *options: str) -> str:
    """Send what the document allows, and what it does not; return the report of a run that found nothing."""
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/schema/openapi.json"]
    common = ["--checks", CHECKS, "--suppress-health-check", "all", "-n", str(times(examples)), "--seed", "1"]
    hooks = {"SCHEMATHESIS_HOOKS": "support.schemathesis_hooks", "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [*command, *common, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=times(1800),
        env=os.environ | hooks,
    )
    assert done.returncode == 0, done.stdout[-60_000:]
    return done.stdout


def test_every_answer_is_one_the_document_declares(tmp_path: Path, provider: dict[str, Any]) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.", tags="pdf, forms")
    with RunningServer(tmp_path, *provider["args"], env=provider["env"]) as server:
        paths = server.http.get("/schema/openapi.json").json()["paths"]
        assert f"Tested: {sum(len(METHODS & set(path)) for path in paths.values())}" in check(server, tmp_path, 40)


def test_every_answer_of_registry_mode_is_one_the_document_declares(tmp_path: Path, provider: dict[str, Any]) -> None:
    with Registry(tmp_path, *provider["args"], env=provider["env"]) as server:
        server.finished(server.publish(skill_package("pdf-forms")))
        admin = ("--header", f"Authorization: Bearer {server.token('admin')}")
        # Logging out would end the token the others need.
        paths = ("--exclude-path", "/auth/logout", *(() if LONG else ("--include-path-regex", ONLY_REGISTRY)))
        report = check(server, tmp_path, 40 if LONG else 10, *admin, *paths)
        declared = server.http.get("/schema/openapi.json").json()["paths"]
        tested = [path for path in declared if path != "/auth/logout" and (LONG or re.search(ONLY_REGISTRY, path))]
        assert f"Tested: {sum(len(METHODS & set(declared[path])) for path in tested)}" in report
