"""The real command as a process of its own, for tests over HTTP."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from support.processes import start
from support.waiting import PATIENCE_SECONDS, wait_until

COMMAND = str(Path(sys.executable).with_name("skill-registry"))

NO_CACHE = {"SKILL_REGISTRY_CACHE_BYTES": "0"}
"""So that a package is fetched each time, as most tests expect, and the cache of this machine stays as it is."""


def write_skill(root: Path, name: str, description: str, body: str = "# Body\n", **metadata: str) -> Path:
    """Write a skill folder as an author would, and return it."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"  {key}: {value}" for key, value in metadata.items()]
    front = "\n".join(
        [f"name: {folder.name}", f"description: {description}", *(["metadata:", *lines] if lines else [])]
    )
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\n{body}", encoding="utf-8")
    return folder


def write_copies(root: Path, *names: str) -> None:
    """Write near-copies of one skill, which backs up folders to an encrypted archive."""
    for copy, name in enumerate(names):
        steps = [f"{number}. Do step number{number} of the archive with tool{number}." for number in range(20)]
        write_skill(root, name, "Back up a folder to an encrypted archive.", "\n".join([*steps, f"Copy {copy}.\n"]))


class RunningServer:
    """`skill-registry serve` over a data directory, a skills directory and a manifest in `folder`, on a free port.

    Words only unless `args` choose an embedding provider. Ended, and waited for, at the end of the `with` block.
    """

    def __init__(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> None:
        self.data_dir = folder / "data"
        self.skills_dir = folder / "skills"
        self.skills_dir.mkdir(parents=True, exist_ok=True)
        self.manifest = folder / "skill-project.toml"
        self._args = args
        self._env = env or {}
        self.log = folder / "server.log"
        self._lock = self.data_dir / "skill-registry.lock"

    def command(self) -> Sequence[str]:
        """Return the command line."""
        provider = () if "--embedding-provider" in self._args else ("--embedding-provider", "none")
        folders = ("--skills-dir", str(self.skills_dir), "--data-dir", str(self.data_dir))
        project = () if "--project-file" in self._args else ("--project-file", str(self.manifest))
        return (COMMAND, "serve", "--host", "127.0.0.1", "--port", "0", *folders, *project, *provider, *self._args)

    def environment(self) -> dict[str, str]:
        """Return the environment the command has."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "SKILL_"))}
        return {**clean, **NO_CACHE, **self._env}

    def start(self) -> Self:
        """Start and wait until requests are answered."""
        if self._lock.exists():
            self._lock.write_text("")  # without the address of an earlier server; a process may hold the file
        with self.log.open("ab") as log:
            self.process = start(self.command(), self.environment(), stderr=log.fileno())
        wait_until(self._is_announced, why=self.log.read_text)
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)
        wait_until(self._answers, why=self.log.read_text)
        return self

    def _is_announced(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        if url := self._announced():
            self.url = url
        return url is not None

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return bool(self.http.get("/healthz"))
        except httpx.TransportError:
            return False

    def _announced(self) -> str | None:
        try:
            url: str | None = json.loads(self._lock.read_text())["url"]
            return url
        except (OSError, ValueError):
            return None

    def kill(self) -> None:
        """End the process as a power cut would."""
        self.http.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask the process to end, and return its exit code."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def api(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request below `/api/v1`."""
        return self.http.request(method, f"/api/v1{path}", **options)

    def token(self, role: str = "admin", username: str | None = None) -> str:
        """Return a token, as a program on this machine gets one where the issuer is open (registry profile)."""
        body = {"role": role} | ({"username": username} if username else {})
        answer = self.http.post("/auth/token", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["token"])

    def sign_in(self, role: str = "admin", username: str | None = None) -> Self:
        """Send a token with every request from now on (registry profile)."""
        self.http.headers["Authorization"] = f"Bearer {self.token(role, username)}"
        return self

    def search(self, query: str, **body: Any) -> dict[str, Any]:
        """Return the data of a search."""
        answer = self.api("POST", "/search", json={"query": query, **body})
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def found(self, query: str, **body: Any) -> list[str]:
        """Return the ids a search finds, best first."""
        return [hit["skill"]["id"] for hit in self.search(query, **body)["skills"]]

    def status(self) -> dict[str, Any]:
        """Return the data of the status."""
        data: dict[str, Any] = self.api("GET", "/status").json()["data"]
        return data

    def is_embedded(self, least: int = 1) -> bool:
        """Return whether all skills, at least this many, have vectors."""
        status = self.status()
        return bool(status["skills"] >= least and status["pending"] == 0)

    def wait_for(self, condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until `condition()` holds."""
        wait_until(condition, seconds)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            assert self.stop() == 0, self.log.read_text()


NEW_SKILL: dict[str, Any] = {
    "id": "pdf-forms",
    "name": "PDF forms",
    "description": "Fill in pdf forms and read their fields.",
    "version": "1.0.0",
}


def bearer(token: str) -> dict[str, str]:
    """Return the headers that send a token."""
    return {"Authorization": f"Bearer {token}"}


def new_skill(skill_id: str, **fields: Any) -> dict[str, Any]:
    """Return the body that creates a skill."""
    return {**NEW_SKILL, "id": skill_id, "name": skill_id.replace("-", " "), **fields}
