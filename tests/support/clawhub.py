"""The requests of `clawhub` 0.20.0 and 0.23.3 as they were recorded, and what the commands do with the answers."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import httpx

from support.servers import RunningServer

AGENT = {"User-Agent": "node", "Accept": "application/json"}


def fingerprint(files: Mapping[str, bytes]) -> str:
    """Return the hash of the files of a skill; their paths are in JavaScript's order."""
    lines = (f"{path}:{hashlib.sha256(data).hexdigest()}" for path, data in files.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def skill_md(name: str, version: str = "1.0.0", body: str = "# Body\n") -> bytes:
    """Return a SKILL.md as an author would write it."""
    text = f"---\nname: {name}\ndescription: Does {name} things with great care.\nversion: {version}\n---\n{body}"
    return text.encode()


class ClawHub:
    """The command `clawhub`, logged in at one service. `owner` is the handle of its user."""

    def __init__(self, server: RunningServer, token: str, owner: str) -> None:
        self.server = server
        self.owner = owner
        self.headers = AGENT | ({"Authorization": f"Bearer {token}"} if token else {})

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self.headers | options.pop("headers", {})
        return self.server.http.request(method, f"/clawhub/api{path}", headers=headers, **options)

    def read(self, path: str, **query: str | int) -> Any:
        """Return what a request that succeeds is answered with."""
        answer = self.ask("GET", f"/v1{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def install(self, slug: str, **wanted: str) -> dict[str, bytes]:
        """Return the files that `install` writes."""
        named = {"ownerHandle": wanted["ownerHandle"]} if "ownerHandle" in wanted else {}
        skill = self.read(f"/skills/{slug}", **named)
        owner = {"ownerHandle": skill["owner"]["handle"]}
        version = wanted.get("version", skill["latestVersion"]["version"])
        if "version" in wanted:
            self.read(f"/skills/{slug}/versions/{version}", **owner)
        files = self.download(slug, **owner, version=version)
        told = self.ask("POST", "/cli/telemetry/install", json={"event": "install", "slug": slug, "version": version})
        assert told.json() == {"ok": True}
        return files

    def download(self, slug: str, **wanted: str) -> dict[str, bytes]:
        """Return the files of the zip."""
        answer = self.ask("GET", "/v1/download", params={"slug": slug, **wanted}, headers={"Accept": "*/*"})
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def publish_form(
        self, slug: str, files: Mapping[str, bytes], version: str = "1.0.0", **more: object
    ) -> httpx.Response:
        """Publish as version 0.20.0 does."""
        payload = {"slug": slug, "displayName": slug.title(), "version": version, "changelog": "", "tags": ["latest"]}
        parts = [("files", (path, data, "text/plain")) for path, data in files.items()]
        form = {"payload": json.dumps({**payload, "acceptLicenseTerms": True, **more})}
        return self.ask("POST", "/v1/skills", data=form, files=parts)

    def ticket(self, path: str, data: bytes) -> httpx.Response:
        """Ask for the ticket of a file."""
        file = {
            "path": path,
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "contentType": "text/plain",
        }
        return self.ask("POST", "/v1/skills/-/upload-url", json=file)

    def send(self, url: str, data: bytes) -> httpx.Response:
        """Upload the bytes of a file."""
        headers = self.headers | {"Content-Type": "text/plain"}
        return self.server.http.post(url, content=data, headers=headers)

    def upload(self, path: str, data: bytes) -> dict[str, Any]:
        """Upload a file as version 0.23.3 does, and return what the publication says of it."""
        ticket = self.ticket(path, data)
        assert ticket.status_code == 200, ticket.text
        stored = self.send(ticket.json()["uploadUrl"], data)
        assert stored.status_code == 200, stored.text
        sha256 = hashlib.sha256(data).hexdigest()
        file = {"path": path, "size": len(data), "sha256": sha256, "contentType": "text/plain"}
        return file | {"uploadTicket": ticket.json()["uploadTicket"], "storageId": stored.json()["storageId"]}

    def publish_uploads(
        self, slug: str, uploads: list[dict[str, Any]], version: str = "1.0.0", **more: object
    ) -> httpx.Response:
        """Publish uploaded files as version 0.23.3 does."""
        body = {"slug": slug, "displayName": slug.title(), "ownerHandle": self.owner, "version": version}
        terms = {"changelog": "", "acceptLicenseTerms": True, "tags": ["latest"]}
        return self.ask("POST", "/v1/skills", json=body | terms | {"files": uploads} | more)

    def publish_tickets(self, slug: str, files: Mapping[str, bytes], version: str = "1.0.0") -> httpx.Response:
        """Publish as version 0.23.3 does."""
        handle = self.read("/whoami")["user"]["handle"]
        resolved = self.ask(
            "GET", "/v1/resolve", params={"slug": slug, "ownerHandle": handle, "hash": fingerprint(files)}
        )
        assert resolved.status_code == 200 or (resolved.status_code, resolved.text) == (404, "Skill not found")
        return self.publish_uploads(slug, [self.upload(path, data) for path, data in files.items()], version)
