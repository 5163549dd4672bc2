"""Rules for one path in a package: it is the same harmless path on every system, and shows what it is."""

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
_GIT = re.compile(r"\.git|git~[0-9]", re.IGNORECASE)


def path_faults(name: str) -> Iterator[Finding]:
    """Yield what is wrong with the name of an entry: `/` parts it, and stands at the end of a folder's."""
    path = name.removesuffix("/")
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        yield security_issue("path-absolute", "a name is an absolute path", name)
    if "\\" in name:
        yield security_issue("path-backslash", "a name holds a backslash, which is a separator on Windows", name)
    if _CONTROL.search(name):
        yield security_issue("path-control", "a name holds NUL, a control character or what is no character", name)
    if _HIDDEN.search(name):
        yield security_issue("path-hidden", "a name holds an invisible or direction-changing character", name)
    if len(name.encode("utf-8", "surrogatepass")) > _MAX_PATH:
        yield structure_error("path-length", f"a name is longer than {_MAX_PATH} bytes", name)
    segments = path.lstrip("/").split("/")
    if len(segments) > MAX_DEPTH:
        yield structure_error("path-depth", f"a name is more than {MAX_DEPTH} levels deep", name)
    found = dict.fromkeys(fault for segment in segments[: MAX_DEPTH + 1] for fault in _segment_faults(segment))
    yield from (security_issue(rule, message, name) for rule, message in found)


def _segment_faults(segment: str) -> Iterator[tuple[str, str]]:
    if segment in ("", ".", ".."):
        yield "path-traversal", "a name holds `..`, `.` or an empty part"
        return
    if segment.endswith((".", " ")):
        yield "path-windows", "a part of a name ends with a dot or a space, which Windows drops"
    if _WINDOWS_DEVICE.fullmatch(segment):
        yield "path-windows", "a part of a name is the name of a device on Windows"
    if _WINDOWS_CHARACTERS.search(segment):
        yield "path-windows", 'a name holds one of < > : " | ? *, which Windows does not allow'
    if len(segment.encode("utf-8", "surrogatepass")) > _MAX_SEGMENT:
        yield "path-length", f"a part of a name is longer than {_MAX_SEGMENT} bytes"
    if _GIT.fullmatch(segment.rstrip(". ")):
        yield "nested-git", "there is a `.git` within the package"
    if segment.lower().startswith(TEMPORARY_PREFIX):
        yield "path-reserved", f"names that begin with {TEMPORARY_PREFIX} are the registry's own"
