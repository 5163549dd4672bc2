"""A service in registry mode with its store and its index, and what its callers do."""

import hashlib
import json
import secrets
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from support.commands import Done
from support.git_server import _BLANK
from support.servers import RunningServer
from support.waiting import PATIENCE_SECONDS, wait_until
from support.zips import plain_zip

SECRET = "5f0c6e1b9d3a4728" * 4


def skill_package(
    name: str, version: str = "1.0.0", body: str = "# Body\n", needs: str = "", files: Mapping[str, bytes] | None = None
) -> bytes:
    """Return a package as an author would make it. `needs` are its dependencies, `files` those next to SKILL.md."""
    metadata = f"metadata:\n  dependencies: {json.dumps(needs)}\n" if needs else ""
    fields = f"name: {name}\ndescription: Does {name} things with great care.\nversion: {version}\n{metadata}"
    text = f"---\n{fields}---\n{body}"
    return plain_zip({"SKILL.md": text.encode(), **(files or {})})


def bare_repository(folder: Path) -> Path:
    """Make the remote of an index, as an operator would."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder)], check=True, env=_BLANK)
    return folder


def index_file(remote: Path, path: str) -> list[str]:
    """Return the lines of a file of a remote's branch, none where it is not there."""
    command = ["git", "-C", str(remote), "show", f"main:{path}"]
    done = subprocess.run(command, env=_BLANK, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


class Registry(RunningServer):
    """A server in registry mode: a folder as the store unless `args` name another, a bare repository as the index."""

    def __init__(self, folder: Path, *args: str, env: Mapping[str, str] | None = None) -> None:
        self.blobs = folder / "blobs"
        self.remote = folder / "index.git"
        if not self.remote.exists():
            bare_repository(self.remote)
        store = () if "--s3-bucket" in args else ("--blobs-dir", str(self.blobs))
        index = () if "--registry-index-url" in args else ("--registry-index-url", str(self.remote))
        limits = ("--limits-publishes-per-minute", "100000", "--limits-writes-per-minute", "100000")
        reads = ("--limits-reads-per-minute", "1000000")
        issuer = () if "--auth-issuer" in args or "--public-url" not in args else ("--auth-issuer", "open")
        environment = {"SKILL_REGISTRY_AUTH_SECRET": SECRET, **(env or {})}
        super().__init__(folder, "--enable-registry", *store, *index, *limits, *reads, *issuer, *args, env=environment)

    def caller(self, username: str = "acme/ann", role: str = "manager") -> dict[str, str]:
        """Return the header of a caller."""
        answer = self.http.post("/auth/token", json={"role": role, "username": username})
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['data']['token']}"}

    def new_key(self, role: str = "user") -> str:
        """Return a new API key."""
        body, admin = {"name": "reader", "role": role}, self.caller("root", "admin")
        answer = self.http.post("/api/v1/auth/keys", json=body, headers=admin)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["key"])

    def publish(self, package: bytes, caller: dict[str, str] | None = None, /, **headers: str) -> httpx.Response:
        """Upload a package."""
        files = {"package": ("package.zip", package, "application/zip")}
        return self.http.post("/api/registry/publish", files=files, headers={**(caller or self.caller()), **headers})

    def job(self, job_id: str, caller: dict[str, str] | None = None) -> dict[str, Any]:
        """Return a job."""
        answer = self.http.get(f"/api/registry/publish/{job_id}/status", headers=caller or self.caller())
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def finished(
        self, answer: httpx.Response, *, synced: bool = False, seconds: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        """Return a job once it has ended and, if wanted, the index has it."""
        assert answer.status_code == 202, answer.text
        caller = self.caller("root", "admin")
        job: dict[str, Any] = {}

        def is_finished() -> bool:
            job.update(self.job(answer.json()["data"]["job_id"], caller))
            return bool(job["completed_at"] and (job["index_synced"] or not synced))

        wait_until(is_finished, seconds, lambda: f"{job}\n{self.log.read_text()[-3000:]}")
        return job

    def set_aside(self, skill_id: str, version: str = "1.0.0") -> str:
        """Leave a job as one is left during which the service died twice, and return its id."""
        package, job_id = skill_package(skill_id.partition("/")[2], version), secrets.token_hex(8)
        (self.data_dir / "publish" / f"{job_id}.zip").write_bytes(package)
        values = {
            "id": job_id, "state": "rejected", "skill_id": skill_id, "version": version, "size": len(package),
            "checksum": f"sha256:{hashlib.sha256(package).hexdigest()}", "uploaded_at": "2026-01-02T03:04:05.678Z",
            "uploaded_by": "acme/ann", "completed_at": "2026-01-02T03:05:05.678Z", "tries": 0, "next_try": 0,
            "begun": 2, "set_aside": 1, "errors": "[]", "warnings": "[]",
        }  # fmt: skip
        places = ", ".join(f":{name}" for name in values)
        with closing(sqlite3.connect(self.data_dir / "skill-registry.db", isolation_level=None)) as database:
            database.execute(f"insert into publish_jobs ({', '.join(values)}) values ({places})", values)
        return job_id

    def get(self, path: str, caller: dict[str, str] | None = None, /, **headers: str) -> httpx.Response:
        """Read as a user."""
        return self.http.get(path, headers={**(caller or self.caller("reader", "user")), **headers})


def metrics(registry: Registry, name: str) -> Iterator[Sample]:
    """Return the samples of a metric."""
    text = registry.get("/metrics", registry.caller()).text
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return (sample for sample in samples if sample.name == f"skill_registry_{name}")


def run(folder: Path, registry: Registry, *args: str, role: str = "manager", **env: str) -> Done:
    """Run a command against a registry, with a token of acme/ann."""
    token = registry.caller(role=role)["Authorization"].removeprefix("Bearer ")
    return Done(folder, *args, "--server", registry.url, SKILL_REGISTRY_CLIENT_API_KEY=token, **env)
