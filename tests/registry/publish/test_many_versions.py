"""What a version costs does not grow with the versions before it: their records, of up to a megabyte, are not read."""

import sqlite3
from contextlib import closing
from pathlib import Path

from support.publishing import Registry, index_file, skill_package


def test_the_records_of_earlier_versions_are_not_read_again(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        ann = registry.caller()
        for number in range(3):
            published = registry.publish(skill_package("hello", f"1.{number}.0"), ann)
            assert registry.finished(published, synced=True)["status"] == "accepted"
        before = registry.get("/index/acme/hello").text.splitlines()
        with closing(sqlite3.connect(registry.data_dir / "skill-registry.db", isolation_level=None)) as database:
            database.execute("update published set record = '{}' where version <> '1.2.0'")
        job = registry.finished(registry.publish(skill_package("hello", "1.3.0"), ann), synced=True)
        assert job["status"] == "accepted"
        after = registry.get("/index/acme/hello").text.splitlines()
        assert (after[:3], len(after)) == (before, 4)
        assert index_file(registry.remote, "acme/hello") == after
        (listed,) = registry.get("/api/v1/registry/index/skills").json()["data"]
        assert (listed["latest_version"], listed["description"]) == ("1.3.0", "Does hello things with great care.")
        assert listed["versions"] == ["1.3.0", "1.2.0", "1.1.0", "1.0.0"]
        versions = registry.get("/api/v1/skills/acme/hello/versions").json()["data"]
        assert [one["version"] for one in versions] == listed["versions"]
        files = {"package": ("package.zip", skill_package("hello", "1.4.0"), "application/zip")}
        checked = registry.http.post("/api/v1/registry/publish/check", files=files, headers=ann).json()["data"]
        assert checked["previous"] == "1.3.0"


def test_a_yank_and_its_undoing_read_only_a_part_of_the_records_of_older_versions(tmp_path: Path) -> None:
    numbers = ["1.0.0", "1.1.0", "1.2.0"]
    with Registry(tmp_path) as registry:
        ann = registry.caller()
        for number in numbers:
            assert registry.finished(registry.publish(skill_package("hello", number), ann))["status"] == "accepted"
        with closing(sqlite3.connect(registry.data_dir / "skill-registry.db", isolation_level=None)) as database:
            part = "json_object('tree', record ->> 'tree', 'description', record ->> 'description')"
            database.execute(f"update published set record = {part} where version <> '1.2.0'")
        for action, order in (("yank", numbers), ("unyank", reversed(numbers))):
            for number in order:
                path = f"/api/v1/registry/skills/acme/hello/{number}/{action}"
                assert registry.http.post(path, headers=ann).status_code == 200
        versions = registry.get("/api/v1/skills/acme/hello/versions").json()["data"]
    assert [version["version"] for version in versions] == numbers[::-1]
