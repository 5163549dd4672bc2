"""Rules for a path in a package: it is harmless and means the same on every system, and is fully visible."""

import re
from collections.abc import Iterator

from registry.domain.findings import Finding
from registry.packages.refusal import security_issue, structure_error
from registry.runtime.atomic_files import TEMPORARY_PREFIX

MAX_DEPTH = 16
_MAX_PATH = 500
_MAX_SEGMENT = 255

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_HIDDEN = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_WINDOWS_CHARACTERS = re.compile(r'[<>:"|?*]')
_WINDOWS_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])[ ]*(?:\..*)?", re.IGNORECASE)
_FILE_VERSION = re.compile(r";[0-9]*\Z")
_GIT = re.compile(r"\.git|git~[0-9]", re.IGNORECASE)


def path_faults(name: str) -> Iterator[Finding]:
    """Yield the faults of the name of an entry. `/` separates its segments and ends the name of a folder."""
    path = name.removesuffix("/")
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        yield security_issue("path-absolute", "the path is absolute", name)
    if "\\" in name:
        message = (
            "the path contains a backslash, which is a separator on Windows only: pack the folder again with a tool "
            "that writes / between names, or give the folder itself; a file must not have one in its name"
        )
        yield security_issue("path-backslash", message, name)
    if _CONTROL.search(name):
        yield security_issue("path-control", "the path contains a control character or an invalid character", name)
    if _HIDDEN.search(name):
        yield security_issue("path-hidden", "the path contains an invisible or a bidirectional control character", name)
    if len(name.encode("utf-8", "surrogatepass")) > _MAX_PATH:
        yield structure_error("path-length", f"the path is longer than {_MAX_PATH} bytes", name)
    segments = path.lstrip("/").split("/")
    if len(segments) > MAX_DEPTH:
        yield structure_error("path-depth", f"the path is more than {MAX_DEPTH} levels deep", name)
    distinct = dict.fromkeys(fault for segment in segments[: MAX_DEPTH + 1] for fault in _segment_faults(segment))
    yield from (security_issue(rule, message, name) for rule, message in distinct)


def _segment_faults(segment: str) -> Iterator[tuple[str, str]]:
    if segment in ("", ".", ".."):
        yield "path-traversal", "the path contains `..`, `.` or an empty segment"
        return
    if segment.endswith((".", " ")):
        yield "path-windows", "a path segment ends with a dot or a space, which Windows removes"
    if _FILE_VERSION.search(segment):
        yield "path-version", "a path segment ends with a file version such as `;1`, which unzip removes"
    if _WINDOWS_DEVICE.fullmatch(segment):
        yield "path-windows", "a path segment is a device name on Windows"
    if _WINDOWS_CHARACTERS.search(segment):
        yield "path-windows", 'the path contains one of < > : " | ? *, which Windows does not allow'
    if len(segment.encode("utf-8", "surrogatepass")) > _MAX_SEGMENT:
        yield "path-length", f"a path segment is longer than {_MAX_SEGMENT} bytes"
    if _GIT.fullmatch(segment.rstrip(". ")):
        yield "nested-git", "the package contains a `.git`"
    if segment.lower().startswith(TEMPORARY_PREFIX):
        yield "path-reserved", f"names that begin with {TEMPORARY_PREFIX} are reserved for the registry"
