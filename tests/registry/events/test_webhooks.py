"""Webhooks: what is told, to whom, how it is signed, and that nothing waits for it or hangs on it."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.groups import PassedWebhookSettings, WebhookSettings, WebhooksSettings
from registry.config.types import HttpUrl, Secret
from registry.database.sqlite import SqliteDatabase
from registry.domain.findings import Finding
from registry.domain.models import now
from registry.events.webhooks import Checked, WebhookSender
from registry.outbound import AddressPolicy, OutboundClient
from support.waiting import wait_until
from support.web_server import WebServer, reply

BAD = Finding(kind="security_issue", severity="high", rule="key", file="a", line=1, message="holds a key")
ODD = Finding(kind="quality_warning", severity="low", rule="odd", file="b", line=None, message="is odd")


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    with WebServer({"/failed": reply(b""), "/passed": reply(b"")}) as running:
        yield running


def sender(folder: Path, receiver: WebServer, **passed: Any) -> WebhookSender:
    outbound = OutboundClient(AddressPolicy((receiver.host,)))
    failed = WebhookSettings(url=HttpUrl(f"{receiver.url}/failed"), secret=Secret("shh"))
    hooks = WebhooksSettings(validation_failed=failed, validation_passed=PassedWebhookSettings(**passed))
    return WebhookSender(SqliteDatabase(folder / "hooks.db"), hooks, outbound, now)


def checked(*findings: Finding, accepted: bool = False, job: str = "job-1") -> Checked:
    return Checked(
        job_id=job,
        skill_id="acme/pdf",
        version="1.0.0",
        scope="acme",
        checksum="sha256:00",
        accepted=accepted,
        findings=findings,
    )


def tell(told: WebhookSender, one: Checked) -> None:
    with told._database.write() as transaction:
        told.note(transaction, one)


def states(told: WebhookSender) -> list[tuple[str, int]]:
    return told._database.read("select state, tries from deliveries")


def test_a_failed_check_is_told_signed_and_once(tmp_path: Path, receiver: WebServer) -> None:
    told = sender(tmp_path, receiver)
    tell(told, checked(BAD, ODD))
    tell(told, checked(BAD))
    told.start()
    wait_until(lambda: states(told) == [("delivered", 1)])
    told.stop()
    ((headers, body),) = receiver.posted
    signature = "sha256=" + hmac.new(b"shh", body, hashlib.sha256).hexdigest()
    assert (headers["X-Skill-Signature"], headers["X-Skill-Event"]) == (signature, "security_issue")
    said = json.loads(body)
    assert headers["X-Skill-Delivery"] == said["id"]
    assert (said["event"], said["hook"], said["job_id"]) == ("security_issue", "validation_failed", "job-1")
    assert [finding["rule"] for finding in said["findings"]] == ["key", "odd"]


def test_who_asked_for_other_events_is_told_nothing(tmp_path: Path, receiver: WebServer) -> None:
    told = sender(tmp_path, receiver)
    tell(told, checked(ODD, accepted=True))
    assert states(told) == []


@pytest.mark.parametrize(
    ("events", "event"), [(("all_checks_passed",), "all_checks_passed"), (("quality_warning",), "quality_warning")]
)
def test_a_passed_check_is_told_by_what_the_hook_lists(
    tmp_path: Path, receiver: WebServer, events: tuple[Any, ...], event: str
) -> None:
    told = sender(tmp_path, receiver, url=HttpUrl(f"{receiver.url}/passed"), events=events)
    tell(told, checked(ODD, accepted=True))
    told.start()
    wait_until(lambda: bool(receiver.posted))
    told.stop()
    headers, body = receiver.posted[0]
    assert (headers["X-Skill-Event"], json.loads(body)["hook"]) == (event, "validation_passed")
    assert "X-Skill-Signature" not in headers


def test_a_hook_that_fails_is_tried_three_times(
    tmp_path: Path, receiver: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.events.webhooks._DELAYS", (0.0, 0.0))
    receiver.answers["/failed"] = reply(b"", 500)
    told = sender(tmp_path, receiver)
    tell(told, checked(BAD))
    told.start()
    wait_until(lambda: states(told) == [("failed", 3)])
    told.stop()
    assert len(receiver.posted) == 3


def test_what_was_not_sent_is_sent_after_a_restart(tmp_path: Path, receiver: WebServer) -> None:
    tell(sender(tmp_path, receiver), checked(BAD))
    told = sender(tmp_path, receiver)
    told.start()
    wait_until(lambda: states(told) == [("delivered", 1)])
    told.stop()


def test_of_two_senders_one_sends(tmp_path: Path, receiver: WebServer) -> None:
    senders = [sender(tmp_path, receiver) for _ in range(3)]
    for number in range(10):
        tell(senders[0], checked(BAD, job=f"job-{number}"))
    for one in senders:
        one.start()
    wait_until(lambda: states(senders[0]) == [("delivered", 1)] * 10)
    for one in senders:
        one.stop()
    assert len({headers["X-Skill-Delivery"] for headers, _ in receiver.posted}) == len(receiver.posted) == 10


def test_a_try_that_was_cut_short_counts(tmp_path: Path, receiver: WebServer) -> None:
    told = sender(tmp_path, receiver)
    tell(told, checked(BAD))
    with told._database.write() as transaction:
        transaction.execute("update deliveries set tries = 3")
    told.start()
    wait_until(lambda: states(told) == [("failed", 3)])
    told.stop()
    assert not receiver.posted


def test_a_hook_inside_is_never_reached(tmp_path: Path, receiver: WebServer) -> None:
    told = sender(tmp_path, receiver)
    told._outbound = OutboundClient(AddressPolicy(()))
    tell(told, checked(BAD))
    told.start()
    wait_until(lambda: states(told) == [("pending", 1)])
    told.stop()
    assert receiver.connections == 0
