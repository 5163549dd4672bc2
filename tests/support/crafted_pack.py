"""A git server that sends a pack as no git would write it: a delta that claims any size."""

import hashlib
import struct
import zlib

from support.web_server import Answer, Request, reply

_COMMIT, _TREE, _BLOB, _REF_DELTA = 1, 2, 3, 7
_COPY_1_MIB = bytes([0xC0, 0x10])
"""A step of a delta: copy 0x100000 bytes from offset 0 of the base (gitformat-pack)."""


def crafted_repository(path: str, skill_md: bytes, delta_bytes: int) -> dict[str, Answer]:
    """Return the answers of a repository at `path` with one file, and a blob of `delta_bytes` that nothing refers to.

    The pack has about 4 kB for each GiB. The answers are those of protocol version 0, whatever the client speaks.
    """
    blob = _Object(b"blob", _BLOB, skill_md)
    tree = _Object(b"tree", _TREE, b"100644 SKILL.md\0" + blob.digest)
    text = f"tree {tree.digest.hex()}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nm\n"
    commit = _Object(b"commit", _COMMIT, text.encode())
    base = _Object(b"blob", _BLOB, b"0" * (1 << 20))
    delta = _number(1 << 20) + _number(delta_bytes) + _COPY_1_MIB * (delta_bytes >> 20)
    entries = [item.entry for item in (blob, tree, commit, base)]
    entries.append(_head(_REF_DELTA, len(delta)) + base.digest + zlib.compress(delta, 9))
    pack = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    pack += hashlib.sha1(pack).digest()
    head = commit.digest.hex().encode()
    capabilities = b"shallow side-band-64k ofs-delta symref=HEAD:refs/heads/main"
    refs = _line(head + b" HEAD\0" + capabilities + b"\n") + _line(head + b" refs/heads/main\n") + b"0000"
    shallow = _line(b"shallow " + head) + b"0000"
    bands = b"".join(_line(b"\1" + pack[at : at + 60_000]) for at in range(0, len(pack), 60_000))

    def upload(request: Request) -> None:
        is_last = b"done" in request.owner.posted[-1][1]  # the first request only asks where the history is cut
        body = shallow + (_line(b"NAK\n") + bands + b"0000" if is_last else b"")
        reply(body, Content_Type="application/x-git-upload-pack-result")(request)

    service = _line(b"# service=git-upload-pack\n") + b"0000"
    return {
        f"{path}/info/refs?service=git-upload-pack": reply(
            service + refs, Content_Type="application/x-git-upload-pack-advertisement"
        ),
        f"{path}/git-upload-pack": upload,
    }


class _Object:
    def __init__(self, name: bytes, kind: int, content: bytes) -> None:
        self.digest = hashlib.sha1(b"%s %d\0%s" % (name, len(content), content)).digest()
        self.entry = _head(kind, len(content)) + zlib.compress(content)


def _line(content: bytes) -> bytes:
    return b"%04x%s" % (len(content) + 4, content)


def _head(kind: int, size: int) -> bytes:
    head, rest = bytearray([kind << 4 | size & 15]), size >> 4
    while rest:
        head[-1] |= 0x80
        head.append(rest & 0x7F)
        rest >>= 7
    return bytes(head)


def _number(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
