"""The rules applied to a text and to the texts of a folder."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec
from ahocorasick_rs import AhoCorasick, Implementation, MatchKind

from registry.findings.finding import RISKS, Finding, SkillFindings, risk
from registry.findings.rule import Rule
from registry.findings.rules import RULES
from registry.skill_folder.tree import SKILL_FILE, list_files

_Span = tuple[int, int]
"""Where something begins and ends in a text."""

ENGINE = 1
"""The version of the rules; a change of what they find is a new one."""

MAX_FILE = 1024 * 1024
MAX_FOLDER = 8 * 1024 * 1024
_LINES_BEFORE, _LINES_AFTER = 2, 6
_MAX_A_RULE = 3
_MAX_MATCHES = 100
_MAX_FINDINGS = 100
_BINARY_SNIFF = 8 * 1024
_PROSE = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".toml", ""})
_TEXTS = _PROSE | frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
"""What is read as text even where it holds NUL: shells pass over that, and PowerShell reads UTF-16."""
_CONTINUED = re.compile(r"\\\r?\n")
_INVISIBLE = re.compile(
    r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0e\ufeff\uffa0\U000e0000-\U000e01ef]"
)


def scan_folder(folder: Path) -> SkillFindings:
    """Look into the texts of a skill's own files. Raises OSError when the folder cannot be listed."""
    findings = scan_files(folder, [entry.path for entry in list_files(folder)])
    return SkillFindings(risk=risk(findings), engine=ENGINE, findings=findings)


def scan_record(name: str, description: str, body: str) -> SkillFindings:
    """Look into a skill that is a record without files; lines are those of its body."""
    said = scan_text(SKILL_FILE, f"name: {name}\n{description}")
    findings = [*(msgspec.structs.replace(one, line=None) for one in said), *scan_text(SKILL_FILE, body)]
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
        if b"\0" in data[:_BINARY_SNIFF] and _suffix(path) not in _TEXTS:
            continue
        if len(data) > most:
            findings.append(_unread(path))
        left -= len(data[:most])
        findings += scan_text(path, data[:most].replace(b"\0", b"").decode("utf-8", "replace"))
    return sorted(findings, key=lambda finding: -RISKS.index(finding.severity))[:_MAX_FINDINGS]


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _head(path: Path, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""  # gone, or not ours to read: what is amiss with it is told elsewhere


def scan_text(file: str, text: str) -> list[Finding]:
    """Return what the rules find in the text of a file, in order of line; at most three findings a rule."""
    prose = _suffix(file) in _PROSE
    joined = _CONTINUED.sub(lambda broken: " " * len(broken[0]), text)  # a command over several lines is one
    return sorted(_found(file, joined, text, prose), key=lambda finding: finding.line or 0)


def _found(file: str, text: str, original: str, prose: bool) -> Iterator[Finding]:
    lowered = text.lower()
    invisible = not text.isascii() and _INVISIBLE.search(text) is not None
    places = _places(lowered)
    spans: dict[str, list[_Span]] = {}
    for rule, compiled in _compiled():
        if rule.prose and not prose:
            continue
        windows = _windows(rule.hints, places, len(text), len(lowered)) if rule.hints else [(0, len(text))] * invisible
        others = [span for other in rule.unless for span in spans.get(other, ())]
        matches = (match.span() for start, end in windows for match in compiled.finditer(text, start, end))
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


def _windows(hints: tuple[str, ...], places: Mapping[str, list[_Span]], length: int, lowered: int) -> list[_Span]:
    """Return where a rule may match: the lines with a hint and some around them, in order, without overlaps.

    `length` is that of the text, `lowered` that of the same in small letters, in which `places` are.
    """
    found = sorted(window for hint in hints for window in places.get(hint, ()))
    if found and lowered != length:  # a letter whose small form is two: places are not the same
        return [(0, length)]
    merged: list[_Span] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _places(lowered: str) -> dict[str, list[_Span]]:
    """Return the lines round each hint of a text: most texts hold few, and all hints are looked for in one pass."""
    finder, hints = _finder()
    places: dict[str, list[_Span]] = {}
    for number, at, _ in finder.find_matches_as_indexes(lowered, overlapping=True):
        known = places.setdefault(hints[number], [])
        if not known or at >= known[-1][1]:
            known.append(_lines_around(lowered, at))
    return places


def _lines_around(lowered: str, at: int) -> _Span:
    start, end = at, at
    for _ in range(_LINES_BEFORE + 1):
        start = max(lowered.rfind("\n", 0, start), 0)
    for _ in range(_LINES_AFTER + 1):
        end = lowered.find("\n", end + 1)
        if end < 0:
            return start, len(lowered)
    return start, end


@cache
def _finder() -> tuple[AhoCorasick, list[str]]:
    hints = sorted({hint for rule in RULES for hint in rule.hints})
    return AhoCorasick(hints, matchkind=MatchKind.Standard, implementation=Implementation.DFA), hints


@cache
def _compiled() -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    return tuple((rule, re.compile(rule.pattern)) for rule in RULES)


def _overlaps(span: _Span, others: Iterable[_Span]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _unread(file: str) -> Finding:
    message = (
        f"the file is larger than {MAX_FILE:,} bytes, or the skill than {MAX_FOLDER:,}: not all of it was looked into"
    )
    return Finding(kind="quality_warning", severity="low", rule="unread-text", file=file, message=message)
