"""The fields of agentskills.io come out of a registry as their author wrote them: each byte, and each value read."""

from pathlib import Path

import pytest
import yaml

from registry.skill_folder import read_skill_folder
from support.commands import Done
from support.publishing import Registry
from support.zips import plain_zip

FIELDS = {
    "name": "exact",
    "description": 'Keeps: what its author wrote, "quoted" and #not a comment. Ünï – 日本.',
    "license": "Proprietary. LICENSE.txt has complete terms",
    "compatibility": "Designed for Claude Code (or similar); requires git, docker, jq: and the internet.",
    "metadata": {"author": "example-org", "version": "1.0.0", "internal-note": "007", "empty": "", "yes": "no"},
    "allowed-tools": "Bash(git:*) Bash(jq:*) Read",
}
FOLDED = """license: >-
  Apache-2.0
compatibility: |
  Needs Python 3.14+ and uv.
metadata: {author: "o'r", version: '1.0.0', build: "0x1f"}   # by hand
allowed-tools: Read Write
"""


def texts() -> list[str]:
    dumped = yaml.safe_dump(FIELDS, allow_unicode=True, sort_keys=False)
    folded = f"name: exact\ndescription: Keeps what its author wrote.\n{FOLDED}"
    return [f"---\n{fields}---\n# Exact\n\nDo this.\n" for fields in (dumped, folded)]


@pytest.mark.parametrize("text", texts())
def test_the_fields_survive_publishing_exactly(tmp_path: Path, text: str) -> None:
    author, reader = tmp_path / "author/exact", tmp_path / "reader"
    author.mkdir(parents=True)
    reader.mkdir()
    (author / "SKILL.md").write_text(text)
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        job = registry.finished(registry.publish(plain_zip({"SKILL.md": text.encode()})))
        assert job["status"] == "accepted", job
        done = Done(reader, "install", "acme/exact", "--from", registry.url)
        assert done.code == 0, done.out + done.error
        shown = registry.get("/api/v1/skills/acme/exact").json()["data"]
    assert (reader / "skills/exact/SKILL.md").read_bytes() == text.encode()
    before, after = read_skill_folder(author), read_skill_folder(reader / "skills/exact")
    assert (after.needs, after.digest, after.body) == (before.needs, before.digest, before.body)
    for field in ("name", "description", "version", "author", "license", "metadata"):
        assert getattr(after, field) == getattr(before, field) == shown[field], field
    given = yaml.safe_load(text.split("---\n")[1])
    assert shown["license"] == given["license"]
    assert {name: shown["metadata"].get(name) for name in given["metadata"]} == given["metadata"]
    assert shown["compatibility"].strip() == given["compatibility"].strip()
    assert " ".join(shown["allowed_tools"]) == given["allowed-tools"]
    local = Done(reader, "show", "exact", "--json").json
    for field in ("license", "compatibility", "allowed_tools"):
        assert local[field] == shown[field], field
