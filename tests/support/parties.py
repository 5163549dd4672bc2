"""Three parties: a closed registry, a service that has it as a source, and developers with the command alone."""

import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from support.commands import Done
from support.ports import free_port
from support.postgres_server import PostgresServer
from support.publishing import Registry, skill_package
from support.s3 import BUCKET, KEYS, SeaweedFS
from support.servers import RunningServer
from support.waiting import wait_until


class ClosedRegistry(Registry):
    """A registry on a fixed port, with packages in a bucket, which nobody reads without a credential."""

    def __init__(self, folder: Path, bucket: SeaweedFS, database: Mapping[str, str]) -> None:
        self.port = free_port()
        self.scope = f"s{secrets.token_hex(4)}"
        """Whose packages are published, so that several registries can share a bucket."""
        store = ("--s3-bucket", BUCKET, "--s3-endpoint", bucket.url)
        super().__init__(folder, "--port", str(self.port), *store, env={**KEYS, **database})

    def back_up(self, folder: Path, postgres: PostgresServer) -> Callable[[], None]:
        """Copy the state of the stopped registry and its index, and return what restores them.

        With an index that knows better, the registry itself would notice that its log was rolled back.
        """
        shutil.copytree(self.data_dir, folder / "data")
        shutil.copytree(self.remote, folder / "index")
        database = self._env.get("SKILL_REGISTRY_DATABASE_URL")
        copied = postgres.copy_of(database) if database else None

        def restore() -> None:
            for name, place in (("data", self.data_dir), ("index", self.remote)):
                shutil.rmtree(place)
                shutil.copytree(folder / name, place)
            if copied is not None:
                self._env = {**self._env, "SKILL_REGISTRY_DATABASE_URL": copied}

        return restore

    @property
    def address(self) -> str:
        """The URL that others name."""
        return f"http://127.0.0.1:{self.port}"

    def caller(self, username: str | None = None, role: str = "manager") -> dict[str, str]:
        """Return the header of a caller, who publishes in the scope unless named."""
        return super().caller(username or f"{self.scope}/ann", role)

    def release(
        self, name: str, version: str = "1.0.0", body: str = "# Body\n", files: Mapping[str, bytes] | None = None
    ) -> dict[str, Any]:
        """Publish a version and return its job."""
        job = self.finished(self.publish(skill_package(name, version, body, files=files)))
        assert job["status"] == "accepted", job
        return job

    def change(self, action: str, name: str, version: str) -> None:
        """Yank, unyank or revoke a version."""
        path = f"/api/v1/registry/skills/{self.scope}/{name}/{version}/{action}"
        answer = self.http.post(path, headers=self.caller("root", "admin"))
        assert answer.status_code == 200, answer.text


class Service(RunningServer):
    """A local service on this machine that may reach a registry, which it has as the source `corp`."""

    def __init__(self, folder: Path, registry: ClosedRegistry) -> None:
        super().__init__(folder, "--outbound-allowed-host", f"127.0.0.1:{registry.port}")
        self.manifest.write_text("[dependencies]\n")

    def follow(self, registry: ClosedRegistry, api_key: str | None) -> dict[str, Any]:
        """Add the registry as a source by nothing but its address, and return the source."""
        body = {"name": "corp", "url": registry.address} | ({"api_key": api_key} if api_key else {})
        answer = self.api("POST", "/registry/sources", json=body)
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def source(self) -> dict[str, Any]:
        """Return the source `corp`."""
        listed = self.api("GET", "/registry/sources").json()["data"]
        return next(source for source in listed if source["name"] == "corp")

    def install(self, origin: str) -> tuple[int, dict[str, Any]]:
        """Install, and return the status with the skill or the error."""
        answer = self.api("POST", "/skills", json={"origin": origin})
        return answer.status_code, answer.json().get("data") or answer.json()["error"]


class Addressed(Protocol):
    """What has a fixed address."""

    @property
    def address(self) -> str:
        """The URL that others name."""
        ...


class Developer:
    """A user with the command alone: a project in `folder`, and a registry that their environment names."""

    def __init__(self, folder: Path, registry: Addressed, api_key: str | None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "skill-project.toml").write_text("[dependencies]\n")
        self.env = {"SKILL_REGISTRY_SERVER": registry.address}
        if api_key is not None:
            self.env["SKILL_REGISTRY_CLIENT_API_KEY"] = api_key

    def run(self, *args: str, stdin: str = "", **env: str) -> Done:
        """Run a command in the project."""
        return Done(self.folder, *args, stdin=stdin, **(self.env | env))

    def lock(self) -> dict[str, Any]:
        """Return the only skill of the lock file."""
        (skill,) = tomllib.loads((self.folder / "skills.lock").read_text())["skill"]
        return dict(skill)

    def dependencies(self) -> dict[str, Any]:
        """Return the dependencies in the manifest."""
        return dict(tomllib.loads((self.folder / "skill-project.toml").read_text())["dependencies"])

    def copy_lock(self, other: "Developer") -> None:
        """Take the lock file of another user."""
        shutil.copy(other.folder / "skills.lock", self.folder / "skills.lock")


def tree(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the files below a folder by path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def found_by(service: RunningServer, query: str, skill_id: str) -> Iterator[None]:
    """Wait, after the block, until a search of the service finds a skill."""
    yield
    wait_until(lambda: skill_id in service.found(query), why=service.log.read_text)
