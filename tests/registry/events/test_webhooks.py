"""Webhooks: which notifications go to which hooks, their signature, and retries."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.groups import PassedWebhookSettings, WebhookSettings, WebhooksSettings
from registry.config.types import HttpUrl, Secret
from registry.database.sqlite import SqliteDatabase
from registry.domain.findings import Finding
from registry.domain.models import now
from registry.events.webhooks import Checked, WebhookSender, standard_signature
from registry.outbound import AddressPolicy, OutboundClient
from support.waiting import PATIENCE_SECONDS, wait_until
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


def enqueue(webhooks: WebhookSender, result: Checked) -> None:
    with webhooks._database.write() as transaction:
        webhooks.enqueue(transaction, result)


def states(webhooks: WebhookSender) -> list[tuple[str, int]]:
    return webhooks._database.read("select state, tries from deliveries")


def test_a_failed_check_is_sent_once_and_signed(tmp_path: Path, receiver: WebServer) -> None:
    webhooks = sender(tmp_path, receiver)
    enqueue(webhooks, checked(BAD, ODD))
    enqueue(webhooks, checked(BAD))
    webhooks.start()
    wait_until(lambda: states(webhooks) == [("delivered", 1)])
    webhooks.stop()
    ((headers, body),) = receiver.posted
    signature = "sha256=" + hmac.new(b"shh", body, hashlib.sha256).hexdigest()
    assert (headers["X-Skill-Signature"], headers["X-Skill-Event"]) == (signature, "security_issue")
    payload = json.loads(body)
    assert headers["X-Skill-Delivery"] == headers["webhook-id"] == payload["id"]
    stamp = headers["webhook-timestamp"]
    assert abs(time.time() - int(stamp)) < PATIENCE_SECONDS
    assert headers["webhook-signature"] == standard_signature("shh", payload["id"], stamp, body)
    assert (payload["event"], payload["hook"], payload["job_id"]) == ("security_issue", "validation_failed", "job-1")
    assert [finding["rule"] for finding in payload["findings"]] == ["key", "odd"]


def test_a_hook_for_other_events_gets_nothing(tmp_path: Path, receiver: WebServer) -> None:
    webhooks = sender(tmp_path, receiver)
    enqueue(webhooks, checked(ODD, accepted=True))
    assert states(webhooks) == []


@pytest.mark.parametrize(
    ("events", "event"), [(("all_checks_passed",), "all_checks_passed"), (("quality_warning",), "quality_warning")]
)
def test_a_passed_check_is_sent_as_the_event_the_hook_lists(
    tmp_path: Path, receiver: WebServer, events: tuple[Any, ...], event: str
) -> None:
    webhooks = sender(tmp_path, receiver, url=HttpUrl(f"{receiver.url}/passed"), events=events)
    enqueue(webhooks, checked(ODD, accepted=True))
    webhooks.start()
    wait_until(lambda: bool(receiver.posted))
    webhooks.stop()
    headers, body = receiver.posted[0]
    assert (headers["X-Skill-Event"], json.loads(body)["hook"]) == (event, "validation_passed")
    assert "X-Skill-Signature" not in headers


def test_a_failing_receiver_gets_three_tries(
    tmp_path: Path, receiver: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.events.webhooks._DELAYS", (0.0, 0.0))
    receiver.answers["/failed"] = reply(b"", 500)
    webhooks = sender(tmp_path, receiver)
    enqueue(webhooks, checked(BAD))
    webhooks.start()
    wait_until(lambda: states(webhooks) == [("failed", 3)])
    webhooks.stop()
    assert len(receiver.posted) == 3


def test_pending_notifications_are_sent_after_a_restart(tmp_path: Path, receiver: WebServer) -> None:
    enqueue(sender(tmp_path, receiver), checked(BAD))
    webhooks = sender(tmp_path, receiver)
    webhooks.start()
    wait_until(lambda: states(webhooks) == [("delivered", 1)])
    webhooks.stop()


def test_concurrent_senders_send_each_notification_once(tmp_path: Path, receiver: WebServer) -> None:
    senders = [sender(tmp_path, receiver) for _ in range(3)]
    for number in range(10):
        enqueue(senders[0], checked(BAD, job=f"job-{number}"))
    for webhooks in senders:
        webhooks.start()
    wait_until(lambda: states(senders[0]) == [("delivered", 1)] * 10)
    for webhooks in senders:
        webhooks.stop()
    assert len({headers["X-Skill-Delivery"] for headers, _ in receiver.posted}) == len(receiver.posted) == 10


def test_an_interrupted_try_counts(tmp_path: Path, receiver: WebServer) -> None:
    webhooks = sender(tmp_path, receiver)
    enqueue(webhooks, checked(BAD))
    with webhooks._database.write() as transaction:
        transaction.execute("update deliveries set tries = 3")
    webhooks.start()
    wait_until(lambda: states(webhooks) == [("failed", 3)])
    webhooks.stop()
    assert not receiver.posted


def test_a_private_address_is_never_reached(tmp_path: Path, receiver: WebServer) -> None:
    webhooks = sender(tmp_path, receiver)
    webhooks._outbound = OutboundClient(AddressPolicy(()))
    enqueue(webhooks, checked(BAD))
    webhooks.start()
    wait_until(lambda: states(webhooks) == [("pending", 1)])
    webhooks.stop()
    assert receiver.connections == 0


def test_the_standard_signature_is_that_of_the_published_example() -> None:
    secret, message = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signature = standard_signature(secret, message, "1614265330", b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_that_only_begins_like_a_standard_one_signs_as_a_text() -> None:
    digest = hmac.new(b"whsec_a b", b"id.1.body", hashlib.sha256).digest()
    assert standard_signature("whsec_a b", "id", "1", b"body") == "v1," + base64.b64encode(digest).decode()
