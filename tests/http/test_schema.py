"""The service against its own OpenAPI document: no server error, no answer the document does not declare.

The long run, 10,000 requests and more: SCHEMA_EXAMPLES=400 pytest tests/http/test_schema.py
"""

import os
import subprocess
import sys
from pathlib import Path

from support.embedding_server import EmbeddingServer
from support.servers import RunningServer, write_skill

EXAMPLES = os.environ.get("SCHEMA_EXAMPLES", "40")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)


def test_every_answer_is_one_the_document_declares(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.", tags="pdf, forms")
    with EmbeddingServer() as provider:
        arguments = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        with RunningServer(tmp_path, *arguments, env={"OPENAI_API_KEY": "sk-test"}) as server:
            command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
            options = ["--checks", CHECKS, "--suppress-health-check", "all", "-n", EXAMPLES, "--seed", "1"]
            url = f"{server.url}/schema/openapi.json"
            done = subprocess.run(
                [*command, url, *options], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=1200
            )
            assert done.returncode == 0, done.stdout[-5000:]
            assert "Tested: 39" in done.stdout
