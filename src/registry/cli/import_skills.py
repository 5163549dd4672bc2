"""`skill-registry import`: creates many skills, from a folder of them or from lines of JSON."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CREATES, CommandBackend, CommandFailed, Progress
from registry.domain.file_names import printable_name
from registry.skill_folder import (
    SkillFolder,
    UnreadableSkill,
    find_skill_folders,
    list_files,
    read_skill_folder,
    suggest_id,
)

_LINES = 1_000
_BYTES = 8 << 20
"""What one request of an import sends at most. A single longer line is sent alone."""

_CREATED_FIELDS = ("name", "description", "version", "author", "tags", "capabilities")
_STANDARD_INPUT = Path("-")


class _Entry(NamedTuple):
    """A skill to create: where it comes from, and the line of JSON, or why there is none."""

    place: str
    line: bytes
    problem: str | None = None


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True, allow_dash=True))
@click.option("--skip-existing", is_flag=True, help="Do not count conflicts with existing skills as failures.")
@command.backend_options
def import_(path: Path, skip_existing: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Create many skills, from a folder or from lines of JSON.

    PATH is a folder of skills, or a file with a JSON object a line; `-` is standard input.

    \b
    skill-registry import skills.ndjson --server https://registry.example.org
    skill-registry import ~/my-skills

    Each line of a file is the body of POST /api/v1/skills. Of a folder, each SKILL.md becomes a skill. A skill with
    other files is refused, because only its text would be kept: publish or install it. A skill that is refused stops no
    other. Repeat an interrupted import with --skip-existing.
    """
    entries = list(_from_folder(path) if path.is_dir() else _from_lines(path))
    if not entries:
        command.stop(f"there are no skills in {printable_name(str(path))}")
    with console.progress_bar("Importing", hidden=as_json) as progress:
        failures = command.with_backend(flags, server, lambda backend: _sent(backend, entries, progress), CREATES)
    conflicts = {place: str(error) for place, error in failures.items() if error.code == "CONFLICT"}
    problems = {place: str(error) for place, error in failures.items() if place not in conflicts}
    if not skip_existing:
        problems |= conflicts
    result = {
        "created": len(entries) - len(failures),
        "existing": len(conflicts),
        "failed": len(problems),
        "problems": problems,
    }
    console.show(result, _tables, as_json=as_json)
    if problems:
        sys.exit(command.FAILED)


def _from_lines(path: Path) -> Iterator[_Entry]:
    content = sys.stdin.buffer.read() if path == _STANDARD_INPUT else path.read_bytes()
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield _Entry(f"line {number}", line)


def _from_folder(root: Path) -> Iterator[_Entry]:
    root = root.resolve()
    for folder in sorted(find_skill_folders(root)) or [root]:
        place = printable_name(folder.relative_to(root).as_posix())
        try:
            yield _folder_entry(place, folder, root)
        except UnreadableSkill as error:
            yield _Entry(place, b"", error.reason)
        except OSError as error:
            yield _Entry(place, b"", error.strerror or "it cannot be read")


def _folder_entry(place: str, folder: Path, root: Path) -> _Entry:
    others = [printable_name(file.path) for file in list_files(folder) if file.path != "SKILL.md"]
    if others:
        return _Entry(place, b"", f"it has other files ({others[0]}): publish or install it, so that they are kept")
    read = read_skill_folder(folder)
    return _Entry(place, msgspec.json.encode(_request(read, suggest_id(folder, root, read))))


def _request(read: SkillFolder, skill_id: str) -> dict[str, Any]:
    fields = {name: getattr(read, name) for name in _CREATED_FIELDS}
    return {"id": skill_id, **fields, **({"content": read.body} if read.body.strip() else {})}


def _sent(backend: CommandBackend, entries: Sequence[_Entry], progress: Progress) -> dict[str, CommandFailed]:
    """Send the entries in batches, and return the failures by place."""
    failures = {entry.place: CommandFailed(entry.problem) for entry in entries if entry.problem}
    count = len(failures)
    for batch in _batches([entry for entry in entries if not entry.problem]):
        results = backend.create_skills([entry.line for entry in batch])
        failures |= {entry.place: error for entry, error in zip(batch, results, strict=True) if error is not None}
        count += len(batch)
        progress(count, len(entries))
    return failures


def _batches(entries: Sequence[_Entry]) -> Iterator[list[_Entry]]:
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == _LINES or size + len(entry.line) > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += len(entry.line) + 1
    if batch:
        yield batch


def _tables(result: console.Data) -> Iterator[console.Part]:
    yield from console.problems_table("Refused", result["problems"])
    yield from console.facts_table(result)  # last: a long table would push it off the screen
