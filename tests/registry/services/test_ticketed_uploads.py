"""Upload tickets: for one caller, one file and ten minutes; and the limits and the end of what is uploaded."""

import base64
import hashlib
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from registry.errors import RegistryError
from registry.packages.limits import DEFAULT_LIMITS
from registry.services.ticketed_uploads import FOLDER, TICKET_SECONDS, TicketedFile, TicketedUploads, UploadedFile

DATA = b"# Planes\n"


class World:
    """Uploads with a clock that can be put forward."""

    def __init__(self, folder: Path, package_bytes: int = 1000) -> None:
        self.folder = folder
        self.later = timedelta()
        self.uploads = TicketedUploads(folder, package_bytes, lambda: datetime.now(UTC) + self.later)

    def file(self, data: bytes = DATA, path: str = "SKILL.md") -> UploadedFile:
        return UploadedFile(path, len(data), hashlib.sha256(data).hexdigest())

    def send(self, ticket: str, file: UploadedFile, data: bytes, caller: str = "ann") -> TicketedFile:
        receiver = self.uploads.receive(ticket, file, caller)
        try:
            receiver.write(data)
            return TicketedFile(file, ticket, self.uploads.keep(receiver, ticket, file, caller))
        finally:
            self.uploads.end(receiver)

    def upload(self, data: bytes = DATA, path: str = "SKILL.md", caller: str = "ann") -> TicketedFile:
        file = self.file(data, path)
        return self.send(self.uploads.issue(file, caller), file, data, caller)

    def stored(self) -> list[str]:
        return sorted(path.name for path in (self.folder / FOLDER).iterdir())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_uploaded_files_are_collected_in_order_and_removed(world: World) -> None:
    files = [world.upload(), world.upload(b"two", "b.txt"), world.upload(b"", "empty")]
    source = io.BytesIO()
    parts = world.uploads.collect(files, "ann", source)
    assert [(part.path, part.start, part.size) for part in parts] == [
        ("SKILL.md", 0, 9), ("b.txt", 9, 3), ("empty", 12, 0),
    ]  # fmt: skip
    assert source.getvalue() == DATA + b"two"
    world.uploads.discard(files, "ann")
    assert world.stored() == []


class NoFile(io.BytesIO):
    """A file that nothing may be written to."""

    def write(self, data: object) -> int:
        raise AssertionError("something was copied")


def test_one_upload_is_named_once_in_a_publication_and_nothing_is_copied_before(world: World) -> None:
    """It would otherwise be copied as often as it is named: 10 MiB 700 times."""
    one, other = world.upload(), world.upload(b"two", "b.txt")
    same_path = world.upload(b"another", "SKILL.md")
    for files, fields in (
        ([one] * 700, [f"files.{number}" for number in range(1, 100)]),
        ([one, other, one._replace(file=one.file._replace(path="c.txt"))], ["files.2"]),
        ([one, same_path], ["files.1"]),
        (
            [one, *(other._replace(file=other.file._replace(path=str(n)), storage_id=str(n)) for n in range(2000))],
            ["files"],
        ),
    ):
        with pytest.raises(RegistryError) as refused:
            world.uploads.collect(files, "ann", NoFile())
        assert [fault.field for fault in refused.value.details][:99] == fields


def test_files_that_are_larger_together_than_a_package_may_be_are_not_copied(world: World) -> None:
    half = DEFAULT_LIMITS.total_bytes // 2 + 1
    files = [TicketedFile(UploadedFile(name, half, "0" * 64), name, name) for name in ("a", "b")]
    with pytest.raises(RegistryError, match="files"):
        world.uploads.collect(files, "ann", NoFile())


def test_files_that_are_being_received_count_for_the_limit_of_their_caller(world: World) -> None:
    files = [world.file(bytes(600), f"{number}.bin") for number in range(4)]
    tickets = [world.uploads.issue(file, "ann") for file in files]
    receivers = [world.uploads.receive(tickets[at], files[at], "ann") for at in range(3)]
    with pytest.raises(RegistryError, match="You have uploaded"):
        world.uploads.receive(tickets[3], files[3], "ann")
    world.uploads.end(receivers[0])
    world.uploads.end(world.uploads.receive(tickets[3], files[3], "ann"))
    for receiver in receivers[1:]:
        world.uploads.end(receiver)
    assert world.stored() == []


def test_a_repeated_upload_takes_the_same_place(world: World) -> None:
    file = world.file()
    ticket = world.uploads.issue(file, "ann")
    assert world.send(ticket, file, DATA) == world.send(ticket, file, DATA)
    assert len(world.stored()) == 1


def test_another_process_of_the_service_takes_the_ticket(world: World) -> None:
    file = world.file()
    ticket = world.uploads.issue(file, "ann")
    other = World(world.folder)
    assert other.send(ticket, file, DATA).storage_id


def altered(ticket: str) -> str:
    raw = bytearray(base64.urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4)))
    raw[6] ^= 1  # a later end
    return base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda ticket, file: (altered(ticket), file, "ann"), id="altered"),
        pytest.param(lambda ticket, file: (ticket[:-2], file, "ann"), id="cut"),
        pytest.param(lambda ticket, file: ("", file, "ann"), id="none"),
        pytest.param(lambda ticket, file: ("é" * 40, file, "ann"), id="not ASCII"),
        pytest.param(lambda ticket, file: (ticket, file, "bob"), id="another caller"),
        pytest.param(lambda ticket, file: (ticket, file._replace(path="other.md"), "ann"), id="another path"),
        pytest.param(lambda ticket, file: (ticket, file._replace(size=8), "ann"), id="another size"),
        pytest.param(lambda ticket, file: (ticket, file._replace(sha256="0" * 64), "ann"), id="another digest"),
    ],
)
def test_a_ticket_is_for_one_caller_and_one_file(
    world: World, change: Callable[[str, UploadedFile], tuple[str, UploadedFile, str]]
) -> None:
    file = world.file()
    ticket = world.uploads.issue(file, "ann")
    kept = world.send(ticket, file, DATA)
    other_ticket, other_file, caller = change(ticket, file)
    with pytest.raises(RegistryError, match="is not one of yours"):
        world.uploads.receive(other_ticket, other_file, caller)
    with pytest.raises(RegistryError, match="is not one of yours"):
        world.uploads.collect([TicketedFile(other_file, other_ticket, kept.storage_id)], caller, io.BytesIO())
    assert len(world.stored()) == 1


def test_a_ticket_ends_after_ten_minutes_and_its_file_too(world: World) -> None:
    kept = world.upload()
    world.later = timedelta(seconds=TICKET_SECONDS + 2)
    for use in (
        lambda: world.uploads.receive(kept.ticket, kept.file, "ann"),
        lambda: world.uploads.collect([kept], "ann", io.BytesIO()),
    ):
        with pytest.raises(RegistryError, match="has expired"):
            use()
    world.uploads.end(world.uploads.receive(world.uploads.issue(world.file(), "bob"), world.file(), "bob"))
    assert world.stored() == []


@pytest.mark.parametrize("data", [b"# Planet\n", b"# Planes", b"# Planes\n\n", b""])
def test_other_bytes_than_those_of_the_ticket_are_not_kept(world: World, data: bytes) -> None:
    file = world.file()
    with pytest.raises(RegistryError, match="the size and the SHA-256"):
        world.send(world.uploads.issue(file, "ann"), file, data)
    assert world.stored() == []


def test_what_was_not_uploaded_is_named(world: World) -> None:
    first = world.upload()
    file = world.file(b"x", "late.txt")
    late = TicketedFile(file, world.uploads.issue(file, "ann"), first.storage_id)
    with pytest.raises(RegistryError) as caught:
        world.uploads.collect([first, late], "ann", io.BytesIO())
    assert [detail.field for detail in caught.value.details] == ["files.1"]
    world.uploads.discard([first], "ann")
    with pytest.raises(RegistryError, match="was not uploaded here: publish again"):
        world.uploads.collect([first], "ann", io.BytesIO())


@pytest.mark.parametrize("path", ["../up", "/abs", "a\\b", "a\nb", "x" * 501, "c:x"])
def test_a_path_that_no_package_may_have_gets_no_ticket(world: World, path: str) -> None:
    with pytest.raises(RegistryError, match="path"):
        world.uploads.issue(world.file(path=path), "ann")


def test_a_file_that_no_package_may_have_gets_no_ticket(world: World) -> None:
    with pytest.raises(RegistryError, match="at most"):
        world.uploads.issue(UploadedFile("big", DEFAULT_LIMITS.file_bytes + 1, "0" * 64), "ann")


def test_a_caller_may_keep_so_much_and_costs_nobody_else_their_turn(world: World) -> None:
    kept = [world.upload(bytes(900), f"{number}.bin") for number in range(2)]
    with pytest.raises(RegistryError, match="2 files of 1,800 bytes") as caught:
        world.upload(bytes(300), "more.bin")
    assert caught.value.status == 409
    assert world.upload(bytes(900), caller="bob")
    world.uploads.discard(kept, "ann")
    assert world.upload(bytes(300), "more.bin")


def test_all_callers_together_may_keep_so_much(world: World) -> None:
    for number in range(20):
        world.upload(bytes(2000), caller=f"caller-{number}")
    with pytest.raises(RegistryError) as caught:
        world.upload(b"x", caller="one-more")
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, str(TICKET_SECONDS))


def test_the_number_of_files_of_a_caller_is_limited(world: World) -> None:
    for number in range(DEFAULT_LIMITS.entries):
        kept = world.uploads._path(f"{number:032x}", "ann")
        kept.parent.mkdir(exist_ok=True)
        kept.touch()
    with pytest.raises(RegistryError, match="2,000 files"):
        world.upload(b"")
