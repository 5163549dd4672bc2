"""A registry that tells what a test wants: any changes in pages of any size, and a log that can be rolled back."""

import base64
import json
import secrets
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from registry.transparency.checkpoint import Signer
from registry.transparency.merkle import Tree, consistency_proof, leaf_hash, root
from support.web_server import Answer, WebServer, reply

API = "/api/v1"


class ScriptedRegistry(WebServer):
    """A server with the routes that a source reads. `refusal` is the status of every answer that needs the key."""

    def __init__(self, page_size: int = 200) -> None:
        super().__init__()
        self.answers = _Answers(self)
        self.page_size = page_size
        self.refusal: int | None = None
        self.key: str | None = None
        self.set_up()

    def set_up(self) -> None:
        """Begin with an empty catalog and an empty log, under a new key."""
        self.catalog = secrets.token_hex(4)
        self.changes: dict[str, tuple[int, Any]] = {}
        self.revision = 0
        self.leaves = [b"key"]
        with tempfile.TemporaryDirectory() as folder:
            self.signer = Signer(Path(folder), "scripted")

    def publish(self, *ids: str, **fields: Any) -> None:
        """List skills, or list them anew."""
        for skill_id in ids:
            skill = {"name": skill_id, "description": f"Does {skill_id} things.", "version": "1.0.0", "body": "# Body"}
            self.change(skill_id, skill | fields)

    def remove(self, skill_id: str) -> None:
        """List a skill no more."""
        self.change(skill_id, None)

    def change(self, skill_id: str, skill: Any) -> None:
        """Make any change."""
        self.revision += 1
        self.changes[skill_id] = (self.revision, skill)
        self.leaves.append(f"{skill_id} {self.revision} {skill}".encode())

    def asked(self, part: str) -> int:
        """Return how many requests had this text in their path."""
        return sum(part in path for path, _ in self.requests)

    def answer(self, target: str) -> Answer:
        parts = urlsplit(target)
        query = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/skill-registry.json":
            log = {"name": self.signer.name, "key": self.signer.verifier_key}
            return reply(json.dumps({"protocol": "skill-registry", "version": 1, "log": log}).encode())
        if self.refusal is not None:
            return reply(b"", self.refusal)
        if parts.path == f"{API}/registry/index/changes":
            return self._page(query["after"], min(query["limit"], self.page_size))
        tree = self._tree(len(self.leaves))
        if parts.path == f"{API}/log/checkpoint":
            return reply(self.signer.sign(tree.size, root(tree.size, tree.subtree)).encode())
        if parts.path == f"{API}/log/consistency":
            proof = consistency_proof(query["before"], query["size"], self._tree(query["size"]).subtree)
            return _data({"size": query["size"], "proof": [base64.b64encode(step).decode() for step in proof]})
        return reply(b"", 404)

    def _page(self, after: int, limit: int) -> Answer:
        if after > self.revision:
            return reply(b"", 400)
        every = sorted((revision, name, skill) for name, (revision, skill) in self.changes.items())
        entries = [entry for entry in every if entry[0] > after]
        page = entries[:limit]
        is_whole = len(page) == len(entries)
        revision = self.revision if is_whole else page[-1][0]
        etag = f'"{self.catalog}-{self.revision}' + ('"' if is_whole else f'-{revision}"')

        def conditional(request: Any) -> None:
            if request.headers.get("If-None-Match") == etag:
                reply(b"", 304)(request)
                return
            changes = [{"id": name, "revision": number, "skill": skill} for number, name, skill in page]
            body = {"catalog": self.catalog, "revision": revision, "complete": is_whole, "changes": changes}
            _data(body, ETag=etag)(request)

        return conditional

    def _tree(self, size: int) -> Tree:
        tree = Tree()
        for leaf in self.leaves[:size]:
            tree.append(leaf_hash(leaf))
        return tree


class _Answers(dict[str, Answer]):
    def __init__(self, owner: ScriptedRegistry) -> None:
        super().__init__()
        self._owner = owner

    def get(self, path: str, default: Any = None) -> Any:
        return super().get(path) or self._owner.answer(path)


def _data(data: Any, **headers: Any) -> Answer:
    return reply(json.dumps({"success": True, "data": data}).encode(), **headers)
