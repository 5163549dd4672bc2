"""The metadata of a package is parsed strictly, and contradictory files are refused."""

from pathlib import Path

import pytest

from registry.packages.metadata import ParsedMetadata, parse_metadata
from registry.packages.refusal import PackageRefused
from support.zips import SKILL, plain_zip, project, refused_for, skill_file

SAID = "name: pdf-forms\ndescription: Fills the fields of PDF forms."


def parsed(more: str = "", toml: bytes | None = None) -> ParsedMetadata:
    return parse_metadata(skill_file(f"{SAID}\n{more}"), toml)


def rules(data: bytes, toml: bytes | None = None) -> set[str]:
    with pytest.raises(PackageRefused) as refused:
        parse_metadata(data, toml)
    return {finding.rule for finding in refused.value.findings}


def test_every_field_is_read() -> None:
    metadata = parsed(
        'version: 1.2.3\nlicense: MIT\ntags: [pdf, forms]\nmetadata:\n  author: Ada\n  capabilities: "fill, read"'
    )
    assert (metadata.name, metadata.scope, metadata.version) == ("pdf-forms", None, "1.2.3")
    assert (metadata.author, metadata.license) == ("Ada", "MIT")
    assert (metadata.tags, metadata.capabilities) == (["pdf", "forms"], ["fill", "read"])
    assert [(warning.rule, warning.line) for warning in metadata.warnings] == [("agentskills-format", 4)]


def test_the_project_file_comes_before_metadata_before_the_front_matter() -> None:
    toml = project(author="Toml", version="3.0.0")
    metadata = parsed('license: front\nauthor: front\nmetadata:\n  license: "metadata"\n  author: metadata', toml)
    assert (metadata.author, metadata.license, metadata.version) == ("Toml", "metadata", "3.0.0")
    assert parsed("version: 1.0.0\nmetadata:\n  version: 2.0.0").version == "2.0.0"
    assert parsed().version == "1.0.0"


def test_a_scope_may_be_declared() -> None:
    metadata = parsed(toml=project(id="acme/pdf-forms", name="PDF forms"))
    assert (metadata.scope, metadata.name, metadata.title) == ("acme", "pdf-forms", "PDF forms")
    assert parse_metadata(skill_file(SAID.replace("pdf-forms", "acme/pdf-forms")), None).scope == "acme"


@pytest.mark.parametrize(
    ("toml", "rule"),
    [
        (project(id="other"), "skill-name"),
        (project(description="Something else entirely."), "skill-description"),
        (project(version="2.0.0"), "skill-version"),
    ],
)
def test_files_that_disagree_are_refused(toml: bytes, rule: str) -> None:
    assert rules(skill_file(f"{SAID}\nversion: 1.0.0"), toml) == {rule}


def test_agents_and_people_see_the_same_description() -> None:
    assert rules(skill_file(f"{SAID}\nmetadata:\n  description: Another one, for people.")) == {"skill-description"}
    assert rules(skill_file("description: Fills in forms."), project(id="pdf-forms")) == {"skill-name"}
    assert rules(skill_file("name: pdf-forms"), project(description="Fills in forms.")) == {"skill-description"}
    assert parsed(toml=project(description="Fills the fields of PDF forms.")).name == "pdf-forms"


@pytest.mark.parametrize("name", ["a", "7zip", "a-b-1", "a" * 64])
def test_a_valid_name_is_accepted(name: str) -> None:
    assert parse_metadata(skill_file(SAID.replace("pdf-forms", name)), None).name == name


@pytest.mark.parametrize(
    "name",
    [
        "A",
        "a_b",
        "a--b",
        "-a",
        "a-",
        "a" * 65,
        "Pаypal",
        "pаypal",
        "a b",
        "٢",
        "Ⅷ",
        '"a\\n"',
        "''",
        "a/",
        "/a",
        "a/b/c",
        "[a]",
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    assert rules(skill_file(SAID.replace("pdf-forms", name))) == {"skill-name"}


@pytest.mark.parametrize(
    "version", ["1.10", "01.0.0", "v1.0.0", "1.0.0-rc", "1.٢.3", "1.0.0.0", '"1.0.0\\n1"', "9" * 40]
)
def test_an_invalid_version_is_refused(version: str) -> None:
    assert rules(skill_file(f"{SAID}\nversion: {version}")) == {"skill-version"}


@pytest.mark.parametrize("description", ["''", "x" * 1025, '"a\\0b"', "|\n  \x1b[31m"])
def test_an_invalid_description_is_refused(description: str) -> None:
    assert rules(skill_file(f"name: a\ndescription: {description}")) <= {"skill-description", "front-matter"}


HOSTILE = {
    "a python tag": b"---\nname: !!python/object/apply:os.system ['true']\n---\n",
    "aliases": b"---\na: &a [x, x]\nb: [*a, *a]\n---\n",
    "5,000 brackets": b"---\nname: " + b"[" * 5000 + b"\n---\n",
    "a repeated key": b"---\nname: a\nname: b\ndescription: c\n---\n",
    "a megabyte": b"---\n" + b"x: y\n" * 200_000 + b"---\n",
    "no closing line": b"---" + b"\n" * 30_000,
    "nine levels": b"---\nname: " + b"[" * 9 + b"]" * 9 + b"\n---\n",
    "nothing": b"",
    "no front matter": b"# Title\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_front_matter_is_refused(text: bytes) -> None:
    assert rules(text) == {"front-matter"}


def test_invalid_utf8_is_refused() -> None:
    assert rules(SKILL + b"\xff") == {"skill-file"}
    assert rules(SKILL + b"x" * 1024 * 1024) == {"skill-file"}


@pytest.mark.parametrize(
    "toml",
    [
        b"[metadata",
        b"a" + b".a" * 30_000 + b" = 1",
        b"\xff",
        b"a = " + b"[" * 5000,
        b"#" * 70_000,
        b"metadata = 1",
        b"[metadata]\nid = 1",
        b"[metadata]\nversion = 1.0",
    ],
)
def test_a_project_file_that_cannot_be_read_is_refused(toml: bytes) -> None:
    assert rules(SKILL, toml) == {"project-file"}


def test_scalars_stay_text() -> None:
    metadata = parse_metadata(skill_file("name: no\ndescription: 2024-01-01\nauthor: ~\nlicense: 1.10"), None)
    assert (metadata.name, metadata.description, metadata.license) == ("no", "2024-01-01", "1.10")


def test_invalid_optional_fields_are_ignored_with_a_warning() -> None:
    metadata = parsed('tags: [ok, x, "no tag"]\nauthor: "a\\nb"\ncapabilities: [go]')
    assert (metadata.tags, metadata.author, metadata.capabilities) == (["ok"], "", [])
    assert {warning.rule for warning in metadata.warnings} == {"field-dropped", "agentskills-format"}
    assert {warning.kind for warning in metadata.warnings} == {"quality_warning"}


def test_labels_that_are_ignored_are_named_with_the_rule() -> None:
    labels = ["pdf", "表格", "no tag", "データ", "x", *(f"tag-{number}" for number in range(20))]
    metadata = parsed(f"tags: {labels}\ncapabilities: [go, fill in]")
    assert metadata.tags == ["pdf", *(f"tag-{number}" for number in range(19))]
    rule = "each must be 2 to 30 characters of a-z, A-Z, 0-9, '-' and '_'"
    assert [warning.message for warning in metadata.warnings if warning.rule == "field-dropped"] == [
        f"tags: ignored '表格', 'no tag', 'データ' and 1 more: {rule}",
        "tags: only the first 20 are taken",
        "capabilities: ignored 'go': each must be one line of 3 to 50 characters",
    ]


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    text = skill_file("name: A\nversion: 1")
    assert refused_for(plain_zip({"SKILL.md": text}), tmp_path) == {"skill-name", "skill-version", "skill-description"}
