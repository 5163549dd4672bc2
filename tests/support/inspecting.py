"""Inspectors with limits for tests, and texts that no limit of a microsecond lets through."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from registry.config.groups import LimitsSettings
from registry.inspection.inspector import Inspector

LARGE = "Read the file and tell what is in it.\n" * 25_000
"""A text of nearly a mebibyte."""


@contextmanager
def inspecting(*, children: int = 1, patience: float | None = None, **limits: Any) -> Iterator[Inspector]:
    """Have an inspector for the block, which waits a minute unless `limits` say otherwise."""
    inspector = Inspector(LimitsSettings(**{"scan_seconds": 60.0, **limits}), children, patience)
    try:
        yield inspector
    finally:
        inspector.close()


def large_skill(folder: Path) -> Path:
    """Write a skill of eight mebibytes of text, and return its folder."""
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: large\ndescription: Holds many words.\n---\n# Large\n")
    for number in range(8):
        (folder / f"part-{number}.md").write_text(LARGE)
    return folder
