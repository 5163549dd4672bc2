"""Applies the rules to a text, a record or a skill folder."""

from pathlib import Path, PurePosixPath

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.findings import RISKS, Finding, SkillFindings, risk
from registry.findings.matching import matches
from registry.skill_folder.tree import SKILL_FILE, list_files

ENGINE = 5
"""The version of the rules. It increases with every change of their findings."""

CURRENT_RULES = f'%"engine":{ENGINE},"findings":%'
"""A `like` pattern in SQL for encoded findings of this version. Texts cannot contain it: their quotes are escaped."""

MAX_FILE = 1024 * 1024
MAX_FOLDER = 8 * 1024 * 1024
_MAX_FINDINGS = 100
_BINARY_SNIFF = 8 * 1024
_PROSE = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".toml", ""})
_TEXTS = _PROSE | frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
"""Files that are scanned even with NUL bytes: shells skip them, and PowerShell reads UTF-16."""


def scan_folder(folder: Path) -> SkillFindings:
    """Scan the text files of a skill folder. Raises OSError if the folder cannot be listed."""
    scan = TextScan()
    for file in list_files(folder):
        scan.add(printable_name(file.path), _head(folder / file.path))
    return skill_findings(scan.findings())


def scan_skill_file(data: bytes) -> SkillFindings:
    """Scan a skill that has this SKILL.md and no other file."""
    scan = TextScan()
    scan.add(SKILL_FILE, data)
    return skill_findings(scan.findings())


def skill_findings(findings: list[Finding]) -> SkillFindings:
    """Return the findings with their risk and the version of the rules."""
    return SkillFindings(risk=risk(findings), engine=ENGINE, findings=findings)


def scan_record(name: str, description: str, body: str) -> SkillFindings:
    """Scan a skill without files. Line numbers refer to its body."""
    in_metadata = scan_text(SKILL_FILE, f"name: {name}\n{description}")
    without_line = (msgspec.structs.replace(finding, line=None) for finding in in_metadata)
    return skill_findings([*without_line, *scan_text(SKILL_FILE, body)])


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError:
        return b""  # deleted or not readable, which is reported elsewhere


class TextScan:
    """Scans the files of a skill one by one, at most 1 MiB of each and 8 MiB in total.

    A text that was not scanned completely is a finding too, so that no skill counts as harmless because it is large.
    """

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._left = MAX_FOLDER

    def add(self, path: str, data: bytes) -> None:
        """Scan a file. `data` are all its bytes, or its first ones, more than 1 MiB. Binary files are skipped."""
        if b"\0" in data[:_BINARY_SNIFF] and _suffix(path) not in _TEXTS:
            return
        most = min(MAX_FILE, self._left)
        if len(data) > most:
            self._findings.append(_unread(path))
            data = data[:most]
        self._left -= len(data)
        self._findings += scan_text(path, data.replace(b"\0", b"").decode("utf-8", "replace"))

    def findings(self) -> list[Finding]:
        """Return at most 100 findings, the most severe first, then in order of path and line."""
        return sorted(self._findings, key=_sort_key)[:_MAX_FINDINGS]


def _sort_key(finding: Finding) -> tuple[int, str, int]:
    return -RISKS.index(finding.severity), finding.file or "", finding.line or 0


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def scan_text(file: str, text: str) -> list[Finding]:
    """Return the findings in the text of a file in order of line, at most three per rule."""
    return [
        Finding(
            kind="quality_warning",
            severity=rule.severity,
            rule=rule.id,
            file=file,
            line=line,
            message=rule.message,
        )
        for rule, line in matches(text, prose=_suffix(file) in _PROSE)
    ]


def _unread(file: str) -> Finding:
    message = (
        f"the file is larger than {MAX_FILE:,} bytes or the skill larger than {MAX_FOLDER:,}; the rest was not scanned"
    )
    return Finding(kind="quality_warning", severity="low", rule="unread-text", file=file, message=message)
