"""skill-project.toml: its content, and changes that leave the rest of the file unchanged."""

import codecs
import os
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.domain.validation import convert
from registry.errors import RegistryError
from registry.project.manifest import Manifest
from registry.project.manifest_file import DependencyChanges, ManifestFile, NewDependency
from support.endurance import times
from support.waiting import PATIENCE_SECONDS

NAME = "skill-project.toml"
EXAMPLES = settings(max_examples=150, deadline=None, database=None)

HAND_WRITTEN = """\
# The shop's skills.
[metadata]
id = "shop"   # short
version = "1.0.0"

[dependencies]
# Forms come first.
pdf-forms = "1.2.0"       # pinned: 1.3 asks too much
sql-review = {origin = {type = "git", url = "https://example.org/sql.git", ref = {branch = "main"}}, groups = ["dev"]}

[tool.skill-registry]
skills_directory = "skills"
sources = [{name = "team", url = "https://example.org/skills.git"}]

[tool.other]   # nobody's business here
when = 2026-11-21T10:00:00Z
odd = [nan, inf, 0x1F, '''raw "text"''',
       1_000]
"""


@pytest.fixture
def manifest(tmp_path: Path) -> ManifestFile:
    (tmp_path / NAME).write_text(HAND_WRITTEN)
    return ManifestFile(tmp_path / NAME)


def text_of(manifest: ManifestFile) -> str:
    return manifest.path.read_bytes().decode()


def read(manifest: ManifestFile) -> Manifest:
    parsed = manifest.read()
    assert parsed is not None
    return parsed


def refused(call: Any, code: str = "VALIDATION_ERROR") -> RegistryError:
    with pytest.raises(RegistryError) as raised:
        call()
    assert raised.value.code == code, raised.value
    return raised.value


def test_a_hand_written_file_is_parsed(manifest: ManifestFile) -> None:
    parsed = read(manifest)
    assert (parsed.metadata.id, parsed.metadata.version, parsed.metadata.author) == ("shop", "1.0.0", None)
    assert (parsed.tool.skills_directory, parsed.tool.sources[0]["name"]) == ("skills", "team")
    assert parsed.dependencies["pdf-forms"].version == "1.2.0"
    assert [parsed.dependencies[key].source_type for key in parsed.dependencies] == ["source", "git"]


def test_a_file_that_an_editor_on_windows_has_marked_is_read_and_edited(manifest: ManifestFile) -> None:
    manifest.path.write_bytes(codecs.BOM_UTF8 + b'[dependencies]\r\npdf-forms = "1.2.0"\r\n')
    assert read(manifest).dependencies["pdf-forms"].version == "1.2.0"
    manifest.change("pdf-forms", DependencyChanges(version="1.3.0"))
    assert manifest.path.read_bytes() == b'[dependencies]\r\npdf-forms = "1.3.0"\r\n'


def test_a_project_without_the_file_is_valid(tmp_path: Path) -> None:
    manifest = ManifestFile(tmp_path / "new" / NAME)
    assert manifest.read() is None
    manifest.add(NewDependency(skill_id="pdf-forms", version="1.2.0"))
    assert text_of(manifest) == '[dependencies]\npdf-forms = "1.2.0"\n'


def test_an_added_dependency_is_one_more_line(manifest: ManifestFile) -> None:
    manifest.add(NewDependency(skill_id="acme/tea", version="2.0.0", source_name="team", groups=["dev", "dev"]))
    added = [line for line in text_of(manifest).splitlines() if line not in HAND_WRITTEN.splitlines()]
    assert added == [
        '"acme/tea" = {version = "2.0.0", origin = {type = "source", source = "team", skill = "acme/tea"}, '
        'groups = ["dev"]}'
    ]
    assert text_of(manifest).replace(f"{added[0]}\n", "") == HAND_WRITTEN


def test_a_change_affects_only_its_entry(manifest: ManifestFile) -> None:
    manifest.change("pdf-forms", DependencyChanges(version="1.3.0"))
    assert text_of(manifest) == HAND_WRITTEN.replace('"1.2.0"', '"1.3.0"')
    manifest.change("sql-review", DependencyChanges(groups=["test"]))
    assert text_of(manifest) == HAND_WRITTEN.replace('"1.2.0"', '"1.3.0"').replace('["dev"]', '["test"]')


def test_removing_an_added_dependency_restores_the_file(manifest: ManifestFile) -> None:
    manifest.add(NewDependency(skill_id="acme/tea"))
    manifest.remove("acme/tea")
    assert text_of(manifest) == HAND_WRITTEN
    refused(lambda: manifest.remove("acme/tea"), "NOT_FOUND")


def test_an_entry_keeps_its_unknown_keys(manifest: ManifestFile) -> None:
    manifest.path.write_text('[dependencies.tea]\nversion = "1.0.0"\nnote = "green" # not ours\n')
    manifest.change("tea", DependencyChanges(version=None, editable=True))
    assert text_of(manifest) == '[dependencies.tea]\nnote = "green" # not ours\neditable = true\n'


def test_the_version_in_an_origin_counts_for_the_entry(manifest: ManifestFile) -> None:
    origin = '{type = "source", source = "team", skill = "tea", version = "1.0.0"}'
    manifest.path.write_text(f"[dependencies]\ntea = {{origin = {origin}}}\n")
    assert read(manifest).dependencies["tea"].version == "1.0.0"
    assert manifest.change("tea", DependencyChanges(version=None)).version is None
    assert read(manifest).dependencies["tea"].version is None


@pytest.mark.parametrize(
    "layout",
    [
        '[dependencies]\ntea = "1.0.0"',
        '[dependencies]\r\ntea = "1.0.0" # kept\r\n\r\n[other]\r\nx = 1\r\n',
        'dependencies = {tea = "1.0.0"}\n[other]\nx = 1\n',
        'dependencies.tea = "1.0.0"\n[other]\nx = 1\n',
        '[dependencies.tea]\nversion = "1.0.0"\n[dependencies.tea.origin]\ntype = "local"\npath = "a"\n[o]\nx = 1\n',
        '[dependencies.tea]\nversion = "1.0.0"\n[other]\nx = 1\n[dependencies]\nb = "1.0.0"\n',
        '[dependencies]\nb = "1.0.0"\n[dependencies.tea]\norigin.type = "local"\norigin.path = "a"\n',
        "[other]\nx = 1\n[[list]]\ny = 2\n[dependencies.tea]\n",
    ],
)
def test_every_layout_can_be_changed(manifest: ManifestFile, layout: str) -> None:
    manifest.path.write_bytes(layout.encode())
    others = {key: value for key, value in tomllib.loads(layout).items() if key != "dependencies"}
    manifest.add(NewDependency(skill_id="acme/new", groups=["dev"]))
    manifest.change("tea", DependencyChanges(version="2.0.0", source_name="team", editable=True))
    assert read(manifest).dependencies["tea"].version == "2.0.0"
    assert read(manifest).dependencies["tea"].source_type == "source"
    manifest.remove("tea")
    assert "tea" not in read(manifest).dependencies
    assert {key: value for key, value in tomllib.loads(text_of(manifest)).items() if key != "dependencies"} == others


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"[metadata\nid = 1", "line 1"),
        (b'a = 1\nb = "', "line 2"),
        (b"a = 1\n\xff\xfe", "line 2"),
        (b"a = 1\na = 2\n", "line 2"),
        (b"x = " + b"[" * 100_000, "nested"),
        (b"#" * 300_000, "larger"),
        (b"x = 1\na" + b".a" * 100_000 + b" = 1", "line 2"),
    ],
)
def test_a_file_that_is_not_toml_is_refused_and_never_overwritten(
    manifest: ManifestFile, text: bytes, where: str
) -> None:
    manifest.path.write_bytes(text)
    for call in (
        manifest.read,
        lambda: manifest.add(NewDependency(skill_id="tea")),
        lambda: manifest.change("tea", DependencyChanges(editable=True)),
        lambda: manifest.remove("tea"),
    ):
        error = refused(call)
        assert where in error.message
        assert str(manifest.folder) not in error.message
    assert manifest.path.read_bytes() == text


def test_every_fault_of_the_file_is_reported(manifest: ManifestFile) -> None:
    manifest.path.write_text(
        'metadata.name = 5\n[dependencies]\nTEA = "1.0.0"\na = ">>1.2"\n'
        'b = {groups = ["a b"], origin = {type = "ftp"}}\n'
        'c = {origin = {type = "git", url = "https://user:secret@example.org/a"}}\nd = {origin = {type = "zip"}}\n'
    )
    error = refused(manifest.read)
    fields = {fault.field for fault in error.details}
    assert {"metadata.name", "dependencies.TEA", "dependencies.a", "dependencies.b.groups[0]"} <= fields
    assert {"dependencies.b.origin.type", "dependencies.c.origin.url", "dependencies.d.origin.url"} <= fields
    assert "secret" not in error.message


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path: Path, make: Any) -> None:
    make(tmp_path / NAME)
    with pytest.raises(RegistryError) as raised:
        ManifestFile(tmp_path / NAME).add(NewDependency(skill_id="tea"))
    assert raised.value.code in {"VALIDATION_ERROR", "SERVICE_UNAVAILABLE"}
    assert str(tmp_path) not in raised.value.message


def test_a_link_to_the_file_stays_a_link(manifest: ManifestFile, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / NAME
    link.symlink_to(manifest.path)
    ManifestFile(link).add(NewDependency(skill_id="tea"))
    assert link.is_symlink()
    assert "tea" in read(manifest).dependencies


signs = st.characters(exclude_categories=("Cc", "Cs"))
one_line = st.text(signs, min_size=1, max_size=100)
awkward = st.sampled_from(['"', '\\"', "]]", "[x]", "'''", '"""', "#", "= 1", "\\", "\u202e", "\\u0041", "{", "}"])
hostile = st.one_of(one_line, st.lists(st.one_of(awkward, one_line), min_size=1, max_size=6).map("".join))


@EXAMPLES
@given(path=hostile, name=hostile, description=st.text(st.one_of(signs, st.just("\n"))))
def test_every_text_is_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, path: str, name: str, description: str
) -> None:
    file = tmp_path_factory.mktemp("any") / NAME
    before = tomlkit.dumps({"metadata": {"name": name, "description": description}})
    file.write_text(before, newline="")
    manifest = ManifestFile(file)
    body = convert({"skill_id": "tea", "origin": {"type": "local", "path": path}}, NewDependency)
    manifest.add(body)
    parsed = read(manifest)
    assert (parsed.metadata.name, parsed.metadata.description) == (name, description)
    assert msgspec.to_builtins(parsed.dependencies["tea"].origin) == {"type": "local", "path": path}
    assert text_of(manifest).startswith(before)


def test_concurrent_writers_lose_nothing(manifest: ManifestFile) -> None:
    program = (
        "import sys; from pathlib import Path; from registry.project.manifest_file import *\n"
        "file = ManifestFile(Path(sys.argv[1]))\n"
        "for n in range(15): file.add(NewDependency(skill_id=f'{sys.argv[2]}-{n}'))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(manifest.path), name]) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda n: manifest.add(NewDependency(skill_id=f"three-{n}")), range(15)))
    assert [process.wait(PATIENCE_SECONDS) for process in processes] == [0, 0]
    assert len(read(manifest).dependencies) == 2 + 45
    assert text_of(manifest).startswith(HAND_WRITTEN.partition("[tool")[0].rstrip("\n"))


@pytest.mark.endurance
def test_kill_9_leaves_the_old_file_or_the_new_one(manifest: ManifestFile) -> None:
    program = (
        "import sys; from pathlib import Path; from registry.project.manifest_file import *\n"
        "file = ManifestFile(Path(sys.argv[1])); print('ready', flush=True)\n"
        "while True:\n"
        "    file.add(NewDependency(skill_id='tea', groups=['g' * 50] * 9)); file.remove('tea')"
    )
    added = text_of(manifest)
    for run in range(times(15)):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(manifest.path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(0.005 * (run % 15))
            writer.send_signal(signal.SIGKILL)
        parsed = read(manifest)
        assert {"pdf-forms", "sql-review"} <= set(parsed.dependencies) <= {"pdf-forms", "sql-review", "tea"}
        if "tea" in parsed.dependencies:
            manifest.remove("tea")
        assert text_of(manifest) == added
    manifest.add(NewDependency(skill_id="tea"))
    assert [path.name for path in manifest.folder.iterdir()] == [NAME]
