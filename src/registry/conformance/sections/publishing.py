"""Publishing: packages, jobs, the index, yanking and revoking. What is published stays, under a name of its own."""

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Mapping
from typing import Any

from registry.conformance.answer import Answer, Mismatch, expect
from registry.conformance.rows import Section
from registry.conformance.service import NAME, Service
from registry.conformance.shapes import INDEX_LINE, JOB

PUBLISHING = Section("Endpoints: publishing")
_MODE: dict[str, Any] = {"profile": "registry", "registry_mode": True}
_PUBLISH: dict[str, Any] = {**_MODE, "role": "manager", "level": "publish"}
_PATH = "/api/registry/publish"
_SECONDS = 60
_FINAL = ("accepted", "rejected")


@PUBLISHING.row("publishing without a credential is 401", **_MODE)
def _closed(service: Service) -> None:
    upload(service, package(NAME), role=None).error(401, "UNAUTHORIZED")


@PUBLISHING.row("publishing as a user is 403", role="user", **_MODE)
def _user(service: Service) -> None:
    upload(service, package(NAME), role=None, headers=service.exactly("user")).error(403, "FORBIDDEN")


@PUBLISHING.row("an unknown job is 404 NOT_FOUND", role="user", decided=True, **_MODE)
def _unknown_job(service: Service) -> None:
    for name in (service.new_id(), "..%2F..%2Fetc", "a" * 4000, "%00"):
        service.ask("GET", f"{_PATH}/{name}/status").error(404, "NOT_FOUND")


@PUBLISHING.row("a package becomes a job, and its skill `<scope>/<name>`", **_PUBLISH)
def _published(service: Service) -> None:
    name = service.new_id()
    answer = upload(service, package(name))
    data = answer.object({"job_id": "text"}, answer.status)
    job = _finished(service, data["job_id"])
    expect(job["status"] == "accepted", "an accepted job", job)
    expect(job["skill_id"].endswith(f"/{name}"), f"the id <scope>/{name}", job["skill_id"])
    service.ask("GET", f"/api/skills/{job['skill_id']}").data()


@PUBLISHING.row("publishing is 202 with a job whose states and fields are those of a job", decided=True, **_PUBLISH)
def _job(service: Service) -> None:
    content = package(service.new_id())
    answer = upload(service, content).has_status(202)
    answer.object(
        {"job_id": "text", "status": "text", "skill_id": "text", "version": "version", "message": "text"}, 202
    )
    job = _finished(service, answer.data(202)["job_id"])
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    expect(job["size"] > 0 and job["checksum"].startswith("sha256:"), f"a checksum such as {digest}", job["checksum"])
    status = service.ask("GET", f"{_PATH}/status/{job['job_id']}")
    expect(status.object(JOB)["status"] == "accepted", "the same job at /publish/status/{job_id}", status.response.text)


@PUBLISHING.row("a published id and version is CONFLICT, and a new version is accepted", **_PUBLISH)
def _again(service: Service) -> None:
    name = service.new_id()
    _accepted(service, package(name))
    upload(service, package(name, body="# Other\n")).error(409, "CONFLICT")
    _accepted(service, package(name, version="1.1.0"))


@PUBLISHING.row("a package of another scope is 403", **_PUBLISH)
def _other_scope(service: Service) -> None:
    project = b'[metadata]\nid = "another-scope-than-mine/hello"\nversion = "1.0.0"\n'
    answer = upload(service, package("hello", more={"skill-project.toml": project}), headers=service.exactly("manager"))
    answer.error(403, "FORBIDDEN")


@PUBLISHING.row("what is no package is 400, or a rejected job, and nothing is published", decided=True, **_PUBLISH)
def _no_package(service: Service) -> None:
    name = service.new_id()
    for title, content in _bad_packages(name).items():
        answer = upload(service, content)
        if answer.status == 202:
            job = _finished(service, answer.data(202)["job_id"])
            expect(job["status"] == "rejected" and job["errors"], f"a rejected job for {title}", job)
        else:
            answer.expect(answer.status == 400, f"status 400 for {title}", f"status {answer.status}")
            answer.any_error("VALIDATION_ERROR")
    service.ask("POST", _PATH, content=b"PK", headers={"Content-Type": "application/zip"}).survives().has_status(
        400, 415
    )


@PUBLISHING.row("the index has a line a version with its digest, and the package downloads", decided=True, **_PUBLISH)
def _index(service: Service) -> None:
    job = _accepted(service, package(service.new_id()))
    answer = service.ask("GET", f"/index/{job['skill_id']}").has_status(200)
    answer.header("Content-Type", "application/x-ndjson")
    lines = [json.loads(line) for line in answer.response.text.splitlines()]
    answer.expect(len(lines) == 1, "one line", lines)
    line = answer.fields(lines[0], INDEX_LINE, "line")
    answer.expect((line["vers"], line["yanked"]) == ("1.0.0", False), "1.0.0, not yanked", line)
    listed = service.ask("GET", "/api/registry/index/skills")
    listed.expect(
        job["skill_id"] in [skill["id"] for skill in listed.items()], f"{job['skill_id']} in the list", "another list"
    )
    zipped = service.ask("GET", f"/packages/{job['skill_id']}/1.0.0.zip").has_status(200)
    digest = f"sha256:{hashlib.sha256(zipped.response.content).hexdigest()}"
    zipped.expect(digest == line["cksum"], f"bytes with the digest {line['cksum']}", digest)


@PUBLISHING.row("a scoped id is read with `/` and with %2F", decided=True, **_PUBLISH)
def _scoped(service: Service) -> None:
    skill_id = _accepted(service, package(service.new_id()))["skill_id"]
    for written in (skill_id, skill_id.replace("/", "%2F")):
        for path in (f"/api/skills/{written}", f"/api/code/v1/skills/{written}/versions/1.0.0", f"/index/{written}"):
            service.ask("GET", path).has_status(200)


@PUBLISHING.row("a yanked version leaves search and lists, still downloads, and comes back", decided=True, **_PUBLISH)
def _yank(service: Service) -> None:
    skill_id = _accepted(service, package(service.new_id()))["skill_id"]
    path = f"/api/v1/registry/skills/{skill_id}/1.0.0"
    for state, listed in (("yank", False), ("unyank", True)):
        service.ask("POST", f"{path}/{state}").data()
        skill_ids = [hit["skill"]["id"] for hit in service.search(query=skill_id).data()["skills"]]
        expect(
            (skill_id in skill_ids) is listed,
            f"{skill_id} {'found' if listed else 'not found'} after {state}",
            skill_ids,
        )
        service.ask("GET", f"/packages/{skill_id}/1.0.0.zip").has_status(200)
    service.ask("POST", f"{path.replace('1.0.0', '9.9.9')}/yank").error(404, "SKILL_NOT_FOUND")


@PUBLISHING.row("a revoked version is refused for ever", decided=True, **{**_PUBLISH, "role": "admin"})
def _revoke(service: Service) -> None:
    name = service.new_id()
    skill_id = _accepted(service, package(name))["skill_id"]
    path = f"/api/v1/registry/skills/{skill_id}/1.0.0/revoke"
    service.ask("POST", path, role=None, headers=service.exactly("manager")).error(403, "FORBIDDEN")
    service.ask("POST", path, role="admin").data()
    answer = service.ask("GET", f"/packages/{skill_id}/1.0.0.zip")
    answer.expect(400 <= answer.status < 500, "a refusal", f"status {answer.status}")
    upload(service, package(name, body="# Other\n")).error(409, "CONFLICT")


@PUBLISHING.row("a yank and a deprecation have a reason, which the index shows", decided=True, **_PUBLISH)
def _reasons(service: Service) -> None:
    skill_id = _accepted(service, package(service.new_id()))["skill_id"]
    path, note = f"/api/v1/registry/skills/{skill_id}", {"reason": "it is a check", "replacement": "acme/other@^2"}
    for action, undo, state in (
        ("1.0.0/yank", "1.0.0/unyank", "yanked"),
        ("deprecate", "undeprecate", "deprecated"),
    ):
        service.ask("POST", f"{path}/{action}", json={"reason": "two\nlines"}).error(400, "VALIDATION_ERROR")
        service.ask("POST", f"{path}/{action}", json=note).data()
        entry = _withdrawn(service, skill_id)
        members = {name: entry.get(name) for name in ("state", *note)}
        expect(members == {"state": state, **note}, f"{state} with reason and replacement in the index", entry)
        service.ask("POST", f"{path}/{undo}").data()
        expect(_withdrawn(service, skill_id) == {}, "nothing withdrawn in the index", _withdrawn(service, skill_id))


def _withdrawn(service: Service, skill_id: str) -> dict[str, Any]:
    """Return how the index says that the only version of a skill is withdrawn; empty if it is not."""
    text = service.ask("GET", f"/index/{skill_id}").has_status(200).response.text
    return dict(json.loads(text.splitlines()[0]).get("withdrawn") or {})


def package(
    name: str, version: str = "1.0.0", body: str = "# Body\n", more: Mapping[str, bytes] | None = None
) -> bytes:
    """Return a zip of a skill, with further files."""
    about = "A package that a conformance check has published."
    text = f"---\nname: {name}\ndescription: {about}\nversion: {version}\n---\n{body}"
    return _zip({"SKILL.md": text.encode(), **(more or {})})


def _bad_packages(name: str) -> dict[str, bytes]:
    good = package(name)
    return {
        "bytes that are no zip": b"not a zip",
        "nothing": b"",
        "half a zip": good[: len(good) // 2],
        "a zip without SKILL.md": _zip({"README.md": b"# Nothing"}),
        "a SKILL.md without front matter": _zip({"SKILL.md": b"# Nothing"}),
        "a path that leads out": package(name, more={"../../evil.txt": b"x"}),
        "an absolute path": package(name, more={"/etc/evil": b"x"}),
        "two names of one file": package(name, more={"skill.MD": b"x"}),
        "a file and a folder of one name": package(name, more={"a": b"x", "a/b": b"x"}),
        "bytes after the zip": good + b"x" * 100,
        "a version that is none": package(name, version="one"),
    }


def _zip(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return file.getvalue()


def upload(service: Service, content: bytes, below: str = "", **parts: Any) -> Answer:
    """Send a package, perhaps to a registry below a path of the service."""
    return service.ask("POST", below + _PATH, files={"package": ("package.zip", content, "application/zip")}, **parts)


def _accepted(service: Service, content: bytes) -> dict[str, Any]:
    answer = upload(service, content).has_status(200, 201, 202)
    job = _finished(service, answer.data(answer.status)["job_id"])
    expect(job["status"] == "accepted", "an accepted job", job)
    return job


def _finished(service: Service, job_id: str) -> dict[str, Any]:
    """Return a job that has ended. Raises Mismatch for an unknown state, and after a minute."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        job = service.ask("GET", f"{_PATH}/{job_id}/status", role="manager").object(JOB)
        expect(job["status"] in ("pending", "validating", *_FINAL), "a state of publish jobs", job["status"])
        if job["status"] in _FINAL:
            return job
        time.sleep(0.1)
    raise Mismatch(f"a job that ends within {_SECONDS} s", job["status"])
