"""The rules applied to a text and to the texts of a folder."""

from pathlib import Path, PurePosixPath

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.findings import RISKS, Finding, SkillFindings, risk
from registry.findings.matching import matches
from registry.skill_folder.tree import SKILL_FILE, list_files

ENGINE = 3
"""The version of the rules; a change of what they find is a new one."""

CURRENT_RULES = f'%"engine":{ENGINE},"findings":%'
"""What SQL's `like` knows the encoded findings of this version by: within a text of theirs, quotes are escaped."""

MAX_FILE = 1024 * 1024
MAX_FOLDER = 8 * 1024 * 1024
_MAX_FINDINGS = 100
_BINARY_SNIFF = 8 * 1024
_PROSE = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".toml", ""})
_TEXTS = _PROSE | frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
"""What is read as text even where it holds NUL: shells pass over that, and PowerShell reads UTF-16."""


def scan_folder(folder: Path) -> SkillFindings:
    """Look into the texts of a skill's own files. Raises OSError when the folder cannot be listed."""
    scan = TextScan()
    for file in list_files(folder):
        scan.look(printable_name(file.path), _head(folder / file.path))
    return skill_findings(scan.findings())


def skill_findings(findings: list[Finding]) -> SkillFindings:
    """Return findings with their risk and the version of the rules."""
    return SkillFindings(risk=risk(findings), engine=ENGINE, findings=findings)


def scan_record(name: str, description: str, body: str) -> SkillFindings:
    """Look into a skill that is a record without files; lines are those of its body."""
    said = scan_text(SKILL_FILE, f"name: {name}\n{description}")
    findings = [*(msgspec.structs.replace(one, line=None) for one in said), *scan_text(SKILL_FILE, body)]
    return skill_findings(findings)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError:
        return b""  # gone, or not ours to read: what is amiss with it is told elsewhere


class TextScan:
    """Looks into one file of a skill after the other: at most 1 MiB of each and 8 MiB in all.

    What was not looked into is a finding too, so that nothing is called harmless because it is large.
    """

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._left = MAX_FOLDER

    def look(self, path: str, data: bytes) -> None:
        """Look into a file, of which `data` are all bytes or more than 1 MiB; what is no text is passed over."""
        if b"\0" in data[:_BINARY_SNIFF] and _suffix(path) not in _TEXTS:
            return
        most = min(MAX_FILE, self._left)
        if len(data) > most:
            self._findings.append(_unread(path))
            data = data[:most]
        self._left -= len(data)
        self._findings += scan_text(path, data.replace(b"\0", b"").decode("utf-8", "replace"))

    def findings(self) -> list[Finding]:
        """Return at most a hundred findings: the gravest first, then in order of path and line."""
        return sorted(self._findings, key=_gravity)[:_MAX_FINDINGS]


def _gravity(finding: Finding) -> tuple[int, str, int]:
    return -RISKS.index(finding.severity), finding.file or "", finding.line or 0


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def scan_text(file: str, text: str) -> list[Finding]:
    """Return what the rules find in the text of a file, in order of line; at most three findings a rule."""
    # A command over several lines is one.
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")
    findings, line, counted = [], 1, 0
    for rule, at in matches(joined, prose=_suffix(file) in _PROSE):
        line += text.count("\n", counted, at)
        counted = at
        findings.append(
            Finding(
                kind="quality_warning",
                severity=rule.severity,
                rule=rule.id,
                file=file,
                line=line,
                message=rule.message,
            )
        )
    return findings


def _unread(file: str) -> Finding:
    message = (
        f"the file is larger than {MAX_FILE:,} bytes, or the skill than {MAX_FOLDER:,}: not all of it was looked into"
    )
    return Finding(kind="quality_warning", severity="low", rule="unread-text", file=file, message=message)
