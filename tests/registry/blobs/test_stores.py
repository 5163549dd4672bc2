"""Conformance of the blob stores: a folder, and a bucket of a real S3 service."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from registry.blobs import BlobConflict, BlobMissing, BlobStore, BlobUnavailable, FolderStore, put_checked
from registry.blobs.folder import remove_leftovers
from registry.blobs.s3 import S3Store
from registry.config.groups import LimitsSettings, S3Settings
from registry.config.types import HttpUrl
from registry.domain.models import now
from support.s3 import BUCKET, KEYS, SeaweedFS


@pytest.fixture(params=["folder", "bucket", "part of a bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlobStore:
    if request.param == "folder":
        return FolderStore(tmp_path / "blobs")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    seaweed: SeaweedFS = request.getfixturevalue("bucket")
    name = BUCKET if request.param == "bucket" else f"{BUCKET}/one/part"
    return S3Store(S3Settings(bucket=name, endpoint=HttpUrl(seaweed.url)), LimitsSettings())


@pytest.fixture
def key() -> str:
    return f"skills/acme/{uuid.uuid4().hex}-1.0.0.zip"


def written(folder: Path, data: bytes) -> Path:
    path = folder / uuid.uuid4().hex
    path.write_bytes(data)
    return path


def stored(store: BlobStore, key: str) -> bytes:
    with store.open(key) as reader:
        return b"".join(iter(lambda: reader.read(1000), b""))


def test_a_stored_blob_is_read_back(store: BlobStore, key: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    assert not store.exists(key)
    put_checked(store, key, written(tmp_path, data))
    assert store.exists(key)
    assert stored(store, key) == data


def test_storing_the_same_bytes_again_changes_nothing(store: BlobStore, key: str, tmp_path: Path) -> None:
    put_checked(store, key, written(tmp_path, b"same"))
    put_checked(store, key, written(tmp_path, b"same"))
    assert stored(store, key) == b"same"


def test_it_is_known_when_a_blob_was_stored(store: BlobStore, key: str, tmp_path: Path) -> None:
    with pytest.raises(BlobMissing):
        store.stored_at(key)
    put_checked(store, key, written(tmp_path, b"same"))
    assert abs((now() - store.stored_at(key)).total_seconds()) < 600


def test_other_bytes_are_refused(store: BlobStore, key: str, tmp_path: Path) -> None:
    put_checked(store, key, written(tmp_path, b"first"))
    with pytest.raises(BlobConflict):
        put_checked(store, key, written(tmp_path, b"other"))
    with pytest.raises(BlobConflict):
        store.put_new(key, written(tmp_path, b"other"))
    assert stored(store, key) == b"first"


def test_one_of_several_concurrent_writers_wins(store: BlobStore, key: str, tmp_path: Path) -> None:
    files = [written(tmp_path, f"{number:03}".encode()) for number in range(8)]

    def put(path: Path) -> bool:
        try:
            put_checked(store, key, path)
        except BlobConflict:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        winners = [path for path, has_won in zip(files, threads.map(put, files), strict=True) if has_won]
    assert [path.read_bytes() for path in winners] == [stored(store, key)]


def test_a_missing_blob_is_reported(store: BlobStore, key: str) -> None:
    with pytest.raises(BlobMissing), store.open(key):
        pass
    assert not store.exists(key)


def test_an_empty_file_is_stored(store: BlobStore, key: str, tmp_path: Path) -> None:
    put_checked(store, key, written(tmp_path, b""))
    assert stored(store, key) == b""


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with pytest.raises(BlobUnavailable) as error:
        put_checked(FolderStore(tmp_path / "blobs"), "skills/a/b-1.0.0.zip", written(tmp_path, b"x"))
    assert str(tmp_path) not in str(error.value)


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "blobs")
    put_checked(store, "skills/a/b-1.0.0.zip", written(tmp_path, b"x"))
    with pytest.raises(BlobConflict):
        store.put_new("skills/a/b-1.0.0.zip", written(tmp_path, b"y"))
    assert [path.name for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == ["b-1.0.0.zip"]


def test_a_wrong_secret_for_the_bucket_is_reported(bucket: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["AWS_ACCESS_KEY_ID"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    store = S3Store(S3Settings(bucket=BUCKET, endpoint=HttpUrl(bucket.url)), LimitsSettings())
    with pytest.raises(BlobUnavailable, match=r"403|SignatureDoesNotMatch") as error:
        store.exists("skills/a/b-1.0.0.zip")
    assert "canary" not in str(error.value)


def test_temporary_files_of_a_killed_writer_are_removed_and_packages_stay(tmp_path: Path) -> None:
    source = tmp_path / "source.zip"
    source.write_bytes(b"bytes")
    store = FolderStore(tmp_path / "blobs")
    store.put_new("skills/acme/pdf-1.0.0.zip", source)
    (tmp_path / "blobs/skills/acme/.skill-registry-blob-0123").write_bytes(b"half")
    remove_leftovers(tmp_path / "blobs")
    assert [path.name for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == ["pdf-1.0.0.zip"]


def test_stored_blobs_can_be_listed_and_removed(store: BlobStore, tmp_path: Path) -> None:
    scope = f"skills/{uuid.uuid4().hex}/"
    for name in ("b-1.0.0.zip", "a-1.0.0.zip"):
        put_checked(store, f"{scope}{name}", written(tmp_path, b"x"))
    assert sorted(store.keys(scope)) == [f"{scope}a-1.0.0.zip", f"{scope}b-1.0.0.zip"]
    for _ in range(2):
        store.remove(f"{scope}a-1.0.0.zip")
    assert list(store.keys(scope)) == [f"{scope}b-1.0.0.zip"]
    assert list(store.keys("skills/of-nobody/")) == []
    store.remove("skills/of-nobody/a-1.0.0.zip")
