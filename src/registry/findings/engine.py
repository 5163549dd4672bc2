"""The rules applied to a text and to the texts of a folder."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath

from registry.findings.finding import RISKS, Finding, SkillFindings, risk
from registry.findings.rules import RULES, Rule
from registry.skill_folder.tree import list_files

ENGINE = 1
"""The version of the rules; a change of what they find is a new one."""

MAX_FILE = 1024 * 1024
MAX_FOLDER = 8 * 1024 * 1024
_MAX_A_RULE = 3
_MAX_MATCHES = 100
_MAX_FINDINGS = 100
_BINARY_SNIFF = 8 * 1024
_PROSE = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ""})
_CONTINUED = re.compile(r"\\\r?\n")
_INVISIBLE = re.compile(
    r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0e\ufeff\uffa0\U000e0000-\U000e01ef]"
)


def scan_folder(folder: Path) -> SkillFindings:
    """Look into the texts of a skill's own files. Raises OSError when the folder cannot be listed."""
    findings = scan_files(folder, [entry.path for entry in list_files(folder)])
    return SkillFindings(risk=risk(findings), engine=ENGINE, findings=findings)


def scan_files(folder: Path, paths: Iterable[str]) -> list[Finding]:
    """Look into files below a folder, as far as they are text: at most 1 MiB of each and 8 MiB in all.

    At most a hundred findings are returned, the gravest first. What was not looked into is a finding too, so that
    nothing is called harmless because it is large.
    """
    findings: list[Finding] = []
    left = MAX_FOLDER
    for path in paths:
        most = min(MAX_FILE, left)
        data = _head(folder / path, most + 1)
        if b"\0" in data[:_BINARY_SNIFF]:
            continue
        if len(data) > most:
            findings.append(_unread(path))
        left -= len(data[:most])
        findings += scan_text(path, data[:most].decode("utf-8", "replace"))
    return sorted(findings, key=lambda finding: -RISKS.index(finding.severity))[:_MAX_FINDINGS]


def _head(path: Path, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""  # gone, or not ours to read: what is amiss with it is told elsewhere


def scan_text(file: str, text: str) -> list[Finding]:
    """Return what the rules find in the text of a file, in order of line; at most three findings a rule."""
    prose = PurePosixPath(file).suffix.lower() in _PROSE
    joined = _CONTINUED.sub(lambda broken: " " * len(broken[0]), text)  # a command over several lines is one
    return sorted(_found(file, joined, text, prose), key=lambda finding: finding.line or 0)


def _found(file: str, text: str, original: str, prose: bool) -> Iterator[Finding]:
    lowered, invisible = text.lower(), not text.isascii() and _INVISIBLE.search(text) is not None
    spans: dict[str, list[tuple[int, int]]] = {}
    for rule, compiled in _compiled():
        if (rule.prose and not prose) or not _may_match(rule, lowered, invisible):
            continue
        others = [span for other in rule.unless for span in spans.get(other, ())]
        matches = (match.span() for match in compiled.finditer(text))
        spans[rule.id] = [span for span in islice(matches, _MAX_MATCHES) if not _overlaps(span, others)]
        for start, _ in spans[rule.id][:_MAX_A_RULE]:
            yield Finding(
                kind="quality_warning",
                severity=rule.severity,
                rule=rule.id,
                file=file,
                line=original.count("\n", 0, start) + 1,
                message=rule.message,
            )


@cache
def _compiled() -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    return tuple((rule, re.compile(rule.pattern)) for rule in RULES)


def _may_match(rule: Rule, lowered: str, invisible: bool) -> bool:
    return any(hint in lowered for hint in rule.hints) if rule.hints else invisible


def _overlaps(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _unread(file: str) -> Finding:
    message = (
        f"the file is larger than {MAX_FILE:,} bytes, or the skill than {MAX_FOLDER:,}: not all of it was looked into"
    )
    return Finding(kind="quality_warning", severity="low", rule="unread-text", file=file, message=message)
