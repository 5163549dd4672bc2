"""The types, names and sizes of the entries of a zip."""

import stat
from pathlib import Path

import pytest

from registry.packages.limits import PackageLimits
from registry.packages.package import read_zip
from registry.packages.refusal import PackageRefused
from support.zips import DEFLATED, SKILL, STORED, Item, plain_zip, raw_zip, refused_for, skill_zip

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\n"


@pytest.mark.parametrize(
    ("mode", "rule"),
    [
        (0o120777, "link"),
        (0o020644, "special-file"),
        (0o060644, "special-file"),
        (0o010644, "special-file"),
        (0o140644, "special-file"),
        (0o040755, "kind-mismatch"),
        (0o104755, "setuid"),
        (0o102755, "setuid"),
        (0o004755, "setuid"),
    ],
)
def test_special_files_are_refused(tmp_path: Path, mode: int, rule: str) -> None:
    assert refused_for(skill_zip(Item(b"a", b"/etc/passwd", mode=mode)), tmp_path) == {rule}


@pytest.mark.parametrize("attributes", [0x08, 0x28, 0x40, 0x400, 0x0600])
@pytest.mark.parametrize("mode", [0, 0o100644])
def test_labels_devices_and_reparse_points_of_windows_are_refused(tmp_path: Path, mode: int, attributes: int) -> None:
    assert refused_for(skill_zip(Item(b"a", b"x", mode=mode, attributes=attributes)), tmp_path) == {"special-file"}


@pytest.mark.parametrize("attributes", [0x01, 0x02, 0x04, 0x20, 0x80, 0x800, 0x2000, 0x4000])
def test_harmless_attributes_of_windows_are_accepted(tmp_path: Path, attributes: int) -> None:
    assert refused_for(skill_zip(Item(b"a", b"x", attributes=attributes)), tmp_path) == set()


@pytest.mark.parametrize(
    "names",
    [
        ("SKILL.md",),
        ("skill.MD",),
        ("a", "A"),
        ("é", "e\u0301"),
        ("ﬀ", "FF"),
        ("straße", "STRASSE"),
        ("a/x", "A/y"),
        ("d/", "d/"),
        ("d/x", "d/", "d/"),
    ],
)
def test_two_entries_with_the_same_name_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    items = [Item(name.encode(), mode=0o40755 if name.endswith("/") else 0o100644) for name in names]
    assert refused_for(skill_zip(*items), tmp_path) == {"duplicate-name"}


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a", "a/"), ("a/", "a"), ("a/b/c", "a/b")])
def test_a_file_and_a_folder_with_the_same_name_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    items = [Item(name.encode(), mode=0) for name in names]
    assert refused_for(skill_zip(*items), tmp_path) == {"file-and-folder"}


def test_folder_entries_are_optional_and_in_any_order(tmp_path: Path) -> None:
    items = [Item(b"a/x"), Item(b"a/", mode=0o42755), Item(b"b/", mode=0o40755), Item(b"b/c/y"), Item(b"e/", mode=0)]
    assert refused_for(skill_zip(*items), tmp_path) == set()
    assert {path.name for path in (tmp_path / "staged").rglob("*") if path.is_dir()} == {"a", "b", "c", "e"}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"\x7fELF\2\1\1", "program"),
        (b"MZ\x90\0\3\0\0\0", "program"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\1", "program"),
        (b"\xca\xfe\xba\xbe\0\0\0\2", "program"),
        (KEY.encode(), "private-key"),
        (b'{"private_key": "' + KEY.replace("\n", "\\n").encode() + b'"}', "private-key"),
        (b"\0\0" + KEY.encode(), "private-key"),
        (b"PuTTY-User-Key-File-3: ssh-ed25519\n", "private-key"),
    ],
)
def test_programs_and_private_keys_are_refused(tmp_path: Path, data: bytes, rule: str) -> None:
    assert refused_for(skill_zip(Item(b"x", data)), tmp_path) == {rule}


@pytest.mark.parametrize(
    "data",
    [b"MZ is a file format\n", b"\xca\xfe\xba\xbe\0\0\0\x41", KEY[:37].encode() + b"...", b"PK\5\6" + bytes(18), b""],
)
def test_similar_files_are_accepted(tmp_path: Path, data: bytes) -> None:
    assert refused_for(skill_zip(Item(b"x", data)), tmp_path) == set()


def test_a_nested_archive_is_never_opened(tmp_path: Path) -> None:
    bomb = raw_zip(Item(b"zeros", bytes(20_000_000), DEFLATED))
    assert refused_for(skill_zip(Item(b"assets/inner.zip", bomb, DEFLATED)), tmp_path) == set()
    assert (tmp_path / "staged/assets/inner.zip").read_bytes() == bomb


def test_modes_and_times_are_not_copied(tmp_path: Path) -> None:
    items = [Item(b"run.sh", b"x", mode=0o100711), Item(b"odd", b"x", mode=0o100000), Item(b"d/", mode=0o40700)]
    package = read_zip_of(skill_zip(*items), tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in package.rglob("*")}
    assert modes == {"SKILL.md": 0o644, "run.sh": 0o755, "odd": 0o644, "d": 0o755}
    assert (package / "odd").stat().st_mtime > 1_000_000_000  # the archive says 1980


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        (PackageLimits(entries=2), "too-many-entries"),
        (PackageLimits(file_bytes=999), "file-too-large"),
        (PackageLimits(total_bytes=1500), "too-large"),
        (PackageLimits(archive_bytes=500), "archive-too-large"),
    ],
)
def test_limits_are_exact_to_the_byte(tmp_path: Path, limits: PackageLimits, rule: str) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(skill_zip(Item(b"a", b"a" * 1000, STORED), Item(b"b", b"b" * 1000, STORED)))
    with pytest.raises(PackageRefused) as refused:
        read_zip(archive, tmp_path / "staged", limits)
    assert {finding.rule for finding in refused.value.findings} == {rule}
    size = archive.stat().st_size
    just = PackageLimits(entries=3, file_bytes=1000, total_bytes=2000 + len(SKILL), archive_bytes=size)
    assert read_zip(archive, tmp_path / "staged", just).name == "pdf-forms"


def test_an_existing_folder_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged/mine").touch()
    (tmp_path / "a.zip").write_bytes(plain_zip({"SKILL.md": SKILL}))
    with pytest.raises(FileExistsError):
        read_zip(tmp_path / "a.zip", tmp_path / "staged")
    assert (tmp_path / "staged/mine").exists()


def read_zip_of(data: bytes, folder: Path) -> Path:
    (folder / "a.zip").write_bytes(data)
    return read_zip(folder / "a.zip", folder / "staged").folder
