"""The transparency log over HTTP: a reader who has the public key and one checkpoint needs nothing else."""

import base64
import json
from typing import Any

from registry.transparency.checkpoint import Verifier
from registry.transparency.merkle import is_consistent, is_included, leaf_hash
from support.servers import RunningServer, bearer


def test_a_reader_checks_state_entry_and_beginning(registry: RunningServer) -> None:
    user = bearer(registry.token("user"))

    def ask(path: str) -> dict[str, Any]:
        data: dict[str, Any] = registry.api("GET", f"/log/{path}", headers=user).json()["data"]
        return data

    note = registry.api("GET", "/log/checkpoint", headers=user).text
    origin, size, root = Verifier(ask("key")["key"]).read(note)
    assert origin == "skill-registry"
    entry = ask("entries")["entries"][0]
    assert json.loads(entry)["kind"] == "key"
    proof = [base64.b64decode(step) for step in ask(f"inclusion?number=0&size={size}")["proof"]]
    assert is_included(leaf_hash(entry.encode()), 0, size, proof, root)
    between = [base64.b64decode(step) for step in ask(f"consistency?before={size}&size={size}")["proof"]]
    assert is_consistent(size, size, between, root, root)


def test_sizes_and_numbers_the_log_does_not_have_are_refused(registry: RunningServer) -> None:
    user = bearer(registry.token("user"))
    for path in ("inclusion?number=5&size=1", "inclusion?number=0&size=999", "consistency?before=2&size=1"):
        answer = registry.api("GET", f"/log/{path}", headers=user)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
