"""Publishing through crashes: killed again and again, each accepted version is there once, everywhere."""

import json
import random
import threading
import time
from pathlib import Path

import httpx

from support.publishing import Registry, index_file, skill_package

KILLS = 30


def upload(registry: Registry, package: bytes, caller: dict[str, str], jobs: list[str]) -> threading.Thread:
    """Publish in a thread; the connection may break at any moment."""

    def send() -> None:
        try:
            answer = httpx.post(
                f"{registry.url}/api/registry/publish",
                files={"package": ("p.zip", package)},
                headers=caller,
                timeout=30,
            )
            jobs.append(answer.json()["data"]["job_id"])
        except (httpx.TransportError, ValueError):
            pass

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_after_any_crash_every_job_ends_and_nothing_is_there_twice(tmp_path: Path) -> None:
    moments, jobs = random.Random(7), list[str]()
    registry = Registry(tmp_path)
    longest = 0.0
    for number in range(KILLS):
        registry.start()
        package = skill_package(f"skill-{number % 3}", f"1.{number}.0", body="# Body\n" * 500)
        caller, started = registry.caller(), time.monotonic()
        sending = upload(registry, package, caller, jobs)
        sending.join(moments.uniform(0, longest) if longest else None)
        longest = longest or 3 * (time.monotonic() - started)  # three times as long as one takes here and now
        registry.kill()
        sending.join()
    with registry:
        root = registry.caller("root", "admin")
        registry.wait_for(lambda: all(registry.job(one, root)["index_synced"] for one in jobs))
        assert {registry.job(one, root)["status"] for one in jobs} == {"accepted"}
        registry.wait_for(lambda: not list((registry.data_dir / "publish").iterdir()))
        rows = registry.get("/api/registry/index/skills").json()["data"]
        listed = {f"{one['id']}-{version}" for one in rows for version in one["versions"]}
        stored = {str(path.relative_to(registry.blobs / "skills"))[:-4] for path in registry.blobs.rglob("*.zip")}
        registry.wait_for(lambda: not registry_index_lags(registry))
        lines = [json.loads(line) for one in rows for line in index_file(registry.remote, one["id"])]
        assert len(jobs) >= KILLS // 4
        assert sorted(f"{line['name']}-{line['vers']}" for line in lines) == sorted(listed)
        assert listed == stored
        assert not [path for path in registry.blobs.rglob(".skill-registry-*") if path.is_file()]


def registry_index_lags(registry: Registry) -> bool:
    """Return whether a file in git differs from what the server would write."""
    rows = registry.get("/api/registry/index/skills").json()["data"]
    served = {one["id"]: registry.get(f"/index/{one['id']}").text.splitlines() for one in rows}
    return any(index_file(registry.remote, skill) != lines for skill, lines in served.items())
