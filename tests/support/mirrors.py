"""A registry, and a registry that mirrors it."""

from collections.abc import Mapping
from pathlib import Path

from support.ports import free_port
from support.publishing import Registry, skill_package


class Upstream(Registry):
    """A closed registry on a fixed port, so that it can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        super().__init__(folder, "--port", str(port))

    def release(self, name: str, version: str = "1.0.0", files: Mapping[str, bytes] | None = None) -> str:
        """Publish a version of `acme/<name>`, with more files than SKILL.md, and return its checksum."""
        job = self.finished(self.publish(skill_package(name, version, files=files)))
        assert job["status"] == "accepted", job
        return str(job["checksum"])

    def withdraw(self, action: str, name: str, version: str = "1.0.0") -> None:
        """Yank or revoke a version."""
        path = f"/api/v1/registry/skills/acme/{name}/{version}/{action}"
        self.http.post(path, headers=self.caller("root", "admin")).raise_for_status()


class MirrorService(Registry):
    """A registry of its own that mirrors another one as the source `corp`."""

    def __init__(self, folder: Path, upstream: Upstream, *args: str, env: Mapping[str, str] | None = None) -> None:
        allowed = ("--outbound-allowed-host", upstream.address.removeprefix("http://"))
        super().__init__(folder, "--port", str(free_port()), *allowed, *args, env=env)

    @property
    def address(self) -> str:
        """The URL of the mirror."""
        return f"{self.url}/mirrors/corp"

    def follow(self, upstream: Upstream) -> None:
        """Mirror a registry, with a key for it."""
        body = {"name": "corp", "url": upstream.address, "api_key": upstream.new_key(), "mirror": True}
        answer = self.api("POST", "/registry/sources", json=body, headers=self.caller("root", "admin"))
        assert (answer.status_code, answer.json()["data"]["error"]) == (201, None), answer.text

    def kept(self, *parts: str) -> list[Path]:
        """Return the kept files that match a pattern."""
        return [path for path in self.data_dir.glob("/".join(("mirrored", "*", *parts))) if path.is_file()]
