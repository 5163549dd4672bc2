"""Webhooks: whoever wants to know how the check of a package ended is told (contract, section 10).

What is to be told is a row written in the transaction that ends the check, so nothing is forgotten; sending it is the
work of a thread, so nothing waits for it, and what another end does with it changes nothing here.
"""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from registry.config.groups import WebhookSettings, WebhooksSettings
from registry.db import Database, Transaction
from registry.domain.models import timestamp
from registry.outbound import OutboundClient, OutboundError
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.events")

Event = Literal["security_issue", "structure_error", "quality_warning", "all_checks_passed"]

_GRAVEST_FIRST: Sequence[Event] = ("security_issue", "structure_error", "quality_warning", "all_checks_passed")
_SECONDS = 5.0
_TRIES = 3
_LONGEST_TRY_SECONDS = 30.0
"""After this a try whose end nobody has written down was cut short."""
_POLL_SECONDS = 1.0
_DELAYS = (2.0, 10.0)


class Checked(msgspec.Struct, kw_only=True):
    """How the check of one package ended. `findings` are what stood in its way, or was only worth a word.

    `job_id` names the check, of a publish job or of an installation. Of a package that is refused when it is installed,
    nothing is known but the skill it was to be, if that.
    """

    job_id: str
    skill_id: str | None
    version: str | None
    scope: str | None
    checksum: str | None
    accepted: bool
    findings: Sequence[Any]

    def events(self) -> set[str]:
        """Return what has happened: everything passed, or the kinds of what was found."""
        kinds = {str(msgspec.to_builtins(finding)["kind"]) for finding in self.findings}
        return kinds | {"all_checks_passed"} if self.accepted else kinds


class Notice(msgspec.Struct, kw_only=True):
    """What is sent: the body of the request, as it is signed."""

    id: str
    event: str
    hook: str
    created_at: str
    job_id: str
    skill_id: str | None
    version: str | None
    scope: str | None
    checksum: str | None
    findings: Sequence[Any]


class WebhookSender:
    """Writes notices down and sends them, three times at most. One hook gets one notice of one check."""

    def __init__(
        self, database: Database, hooks: WebhooksSettings, outbound: OutboundClient, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._hooks = dict(_configured(hooks))
        self._outbound = outbound
        self._clock = clock
        self._thread = PeriodicWorker("webhooks", self._round)

    def note(self, transaction: Transaction, checked: Checked) -> None:
        """Write down what every hook that asked for it is to be told, once the transaction commits."""
        for name, hook in self._hooks.items():
            event = _gravest(checked.events() & set(hook.events))
            if event is None:
                continue
            notice = Notice(
                id=secrets.token_hex(16),
                event=event,
                hook=name,
                created_at=timestamp(self._clock()),
                job_id=checked.job_id,
                skill_id=checked.skill_id,
                version=checked.version,
                scope=checked.scope,
                checksum=checked.checksum,
                findings=checked.findings,
            )
            transaction.execute(
                "insert into deliveries (id, hook, job_id, event, body, state, tries, next_try)"
                " values (?, ?, ?, ?, ?, 'pending', 0, 0) on conflict (job_id, hook) do nothing",
                (notice.id, name, checked.job_id, event, msgspec.json.encode(notice).decode()),
            )

    def start(self) -> None:
        """Begin to send, first what was left unsent."""
        if self._hooks:
            self._thread.start()

    def look(self) -> None:
        """Say that there may be something to tell."""
        self._thread.wake()

    def stop(self) -> None:
        """Stop after the notice under way."""
        self._thread.stop()

    def send(self) -> None:
        """Send what is due, each notice once, for a command that ends soon; the next service tries again."""
        if self._hooks:
            self._round()

    def _round(self) -> float:
        try:
            self._send_due()
        except Exception:
            _log.exception("webhooks cannot be sent; it is tried again")
        return _POLL_SECONDS

    def _send_due(self) -> None:
        sql = (
            "select id, hook, event, body, tries from deliveries where state = 'pending' and next_try <= ? order by id"
        )
        for delivery_id, name, event, body, tries in self._database.read(sql, (time.time(),)):
            if self._thread.is_stopped:
                return
            if self._begin(delivery_id, tries):
                problem = self._send(self._hooks.get(name), delivery_id, event, body)
                self._write(delivery_id, name, tries + 1, problem)

    def _begin(self, delivery_id: str, tries: int) -> bool:
        """Write a try down before it is made, so that no other process makes it too; one that is cut short counts."""
        is_left = tries < _TRIES
        with self._database.write() as transaction:
            begun = transaction.execute(
                "update deliveries set state = ?, tries = ?, next_try = ?"
                " where id = ? and tries = ? and state = 'pending'",
                (
                    "pending" if is_left else "failed",
                    tries + is_left,
                    time.time() + _LONGEST_TRY_SECONDS,
                    delivery_id,
                    tries,
                ),
            )
        return bool(begun) and is_left

    def _send(self, hook: WebhookSettings | None, delivery_id: str, event: str, body: str) -> str | None:
        """Send one notice; return what went wrong."""
        if hook is None or hook.url is None:
            return "it is not configured any more"
        headers = {
            "Content-Type": "application/json",
            "X-Skill-Event": event,
            "X-Skill-Delivery": delivery_id,
            **_signature(hook, body.encode()),
        }
        try:
            status = self._outbound.post(hook.url.reveal(), body.encode(), headers, seconds=_SECONDS)
        except OutboundError as error:
            return str(error)
        return None if 200 <= status < 300 else f"it answered with status {status}"

    def _write(self, delivery_id: str, name: str, tries: int, problem: str | None) -> None:
        state = "delivered" if problem is None else "failed" if tries >= _TRIES else "pending"
        next_try = time.time() + _DELAYS[min(tries, len(_DELAYS)) - 1]
        if problem is not None:
            _log.warning("webhook %s, try %d of %d: %s", name, tries, _TRIES, problem)
        with self._database.write() as transaction:
            transaction.execute(
                "update deliveries set state = ?, tries = ?, next_try = ? where id = ?",
                (state, tries, next_try, delivery_id),
            )


def _configured(hooks: WebhooksSettings) -> Iterator[tuple[str, WebhookSettings]]:
    for name in ("validation_failed", "validation_passed"):
        hook: WebhookSettings = getattr(hooks, name)
        if hook.url is not None:
            yield name, hook


def _gravest(events: Collection[str]) -> Event | None:
    return next((event for event in _GRAVEST_FIRST if event in events), None)


def _signature(hook: WebhookSettings, body: bytes) -> dict[str, str]:
    """Return the header that proves the sender: an HMAC of the raw body, where a secret is configured."""
    if hook.secret is None:
        return {}
    return {"X-Skill-Signature": "sha256=" + hmac.new(hook.secret.reveal().encode(), body, hashlib.sha256).hexdigest()}
