"""Output is readable where the terminal is not UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = "---\nname: minutes\ndescription: 把会议录音整理成会议纪要 🚀 — “café…”\n---\n"


def run(tmp_path: Path, encoding: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    folder = tmp_path / "skills" / "minutes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(TEXT, encoding="utf-8")
    return subprocess.run(
        [
            *(sys.executable, "-m", "registry", *arguments),
            *("--skills-dir", str(tmp_path / "skills"), "--data-dir", str(tmp_path / "data")),
        ],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        cwd=tmp_path,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_tables_are_written_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    assert run(tmp_path, encoding, "scan").returncode == 0
    done = run(tmp_path, encoding, "show", "minutes")
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert "café" in done.stdout.decode(encoding)


def test_json_keeps_every_letter(tmp_path: Path) -> None:
    run(tmp_path, "cp1252", "scan")
    done = run(tmp_path, "cp1252", "show", "minutes", "--json")
    assert done.stdout.isascii()
    assert "会议" in json.loads(done.stdout)["description"]
