"""`apm`, the client of Microsoft APM: a range, a changed byte, publishing, and the audit of a project."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from clients.running import Box
from clients.services import NAME, Service, write_files
from support.authority import Authority
from support.zips import plain_zip

APM = "apm-cli@0.35.0"


@contextlib.contextmanager
def https(service: Service, authority: Authority, change: Callable[[str, bytes], bytes]) -> Iterator[str]:
    """Yield the address of a proxy that speaks TLS, as in front of a registry; `change` changes what it passes on."""

    class Proxy(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept = {name: value for name, value in self.headers.items() if name.lower() in _PASSED}
            answer = httpx.request(self.command, f"{service.url}{self.path}", content=body, headers=kept, timeout=60)
            sent = change(self.path, answer.content)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("content-type", ""))
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = _pass  # noqa: N815 - the names of the library

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    authority.secure(server, "localhost")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"https://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


_PASSED = {"authorization", "content-type", "accept"}


def project(client: Box, service: Service, address: str, version: str, name: str = NAME) -> None:
    """Write the manifest of a project that uses a skill of the registry, and runs Claude Code."""
    (client.project / ".claude").mkdir(exist_ok=True)
    (client.project / "apm.yml").write_text(
        f"name: shop\nversion: 1.0.0\nlicense: MIT\nregistries:\n  corp:\n    url: {address}/apm\n"
        f'dependencies:\n  apm:\n    - id: {service.owner}/{name}\n      version: "{version}"\n      registry: corp\n'
    )
    client.run("experimental", "enable", "registries")
    client.run("config", "set", "registry.corp.url", f"{address}/apm")


def test_a_range_is_resolved_and_the_project_passes_the_audit(open_service: Service, box: Callable[[str], Box]) -> None:
    client = box(APM)
    if open_service.kind != "local":
        for version in ("1.4.0", "2.0.0"):
            open_service.publish("found-by-apm", version)
        project(client, open_service, open_service.url, "^1.0.0", "found-by-apm")
        expected, name = "1.4.0", "found-by-apm"
    else:
        project(client, open_service, open_service.url, "^1.0.0")
        expected, name = "1.0.0", NAME
    client.run("install")
    lock = (client.project / "apm.lock.yaml").read_text()
    assert f"resolved_ref: {expected}" in lock
    folder = client.project / ".claude" / "skills" / name
    assert f"The state {expected}" in (folder / "SKILL.md").read_text()
    assert (folder / "assets" / "knot.png").read_bytes() == b"\x89PNG\r\n\x1a\n\x00\xff"
    client.run("audit", "--ci")
    (folder / "SKILL.md").write_text("changed\n")
    client.run("audit", "--ci", code=1)


def test_a_token_over_https_and_a_changed_byte(any_service: Service, box: Callable[[str], Box], tmp_path: Path) -> None:
    client, authority, is_changed = box(APM), Authority(tmp_path / "authority"), threading.Event()

    def change(path: str, content: bytes) -> bytes:
        return content[:-1] + b"\1" if is_changed.is_set() and path.endswith("/download") else content

    env = {"REQUESTS_CA_BUNDLE": str(authority.certificate), "SSL_CERT_FILE": str(authority.certificate)}
    if any_service.headers:
        env["APM_REGISTRY_TOKEN_CORP"] = any_service.token
    with https(any_service, authority, change) as address:
        project(client, any_service, address, "1.0.0")
        is_changed.set()
        client.run("install", env=env, code=1)
        assert "mismatch" in client.printed
        assert not (client.project / ".claude" / "skills" / NAME).exists()
        is_changed.clear()
        client.run("install", env=env)
        assert (client.project / ".claude" / "skills" / NAME / "SKILL.md").is_file()
        if any_service.headers:
            client.run("install", "--force", env={**env, "APM_REGISTRY_TOKEN_CORP": "wrong"}, code=None)
            assert any_service.token not in client.printed


@pytest.mark.parametrize("packed", [True, False], ids=["packed by apm", "a zip"])
def test_publishing_a_version_once(
    any_service: Service, box: Callable[[str], Box], tmp_path: Path, *, packed: bool
) -> None:
    client, authority = box(APM), Authority(tmp_path / "authority")
    name = f"{'packed' if packed else 'zipped'}-by-apm"
    env = {"REQUESTS_CA_BUNDLE": str(authority.certificate), "APM_REGISTRY_TOKEN_CORP": any_service.publisher_token}
    text = f"---\nname: {name}\ndescription: Carves with great care.\nversion: 1.0.0\n---\n# Carving\n"
    with https(any_service, authority, lambda path, content: content) as address:
        (client.project / "apm.yml").write_text(
            f"name: {name}\nversion: 1.0.0\nlicense: MIT\nregistries:\n  corp:\n    url: {address}/apm\n"
        )
        client.run("experimental", "enable", "registries")
        client.run("config", "set", "registry.corp.url", f"{address}/apm")
        write_files(client.project / ".apm" / "skills" / name, {"SKILL.md": text.encode()})
        options = ["publish", "--package", f"{any_service.owner}/{name}"]
        if not packed:
            (tmp_path / "skill.zip").write_bytes(plain_zip({"SKILL.md": text.encode()}))
            options += ["--zip", str(tmp_path / "skill.zip")]
        client.run(*options, env=env)
        assert "sha256:" in client.printed
        client.run(*options, env=env, code=1)
        assert "already exists" in client.printed
    read = any_service.server.http.get(f"/tree/{any_service.id_of(name)}/SKILL.md", headers=any_service.headers)
    assert read.text == text
