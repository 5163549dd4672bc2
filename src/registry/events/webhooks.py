"""Webhooks: notifications of the result of a package check (contract, section 10), of reviews and of withdrawals.

The transaction of what happens also inserts a row for each notification, so none is lost. A thread sends them, so no
request waits for a receiver, and a failing receiver has no effect on publishing. Requests are signed as the contract
has it, and as Standard Webhooks (https://www.standardwebhooks.com) has it.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from registry.config.groups import WebhookSettings, WebhooksSettings
from registry.config.groups.webhooks import WebhookEvent
from registry.db import Database, DatabaseError, Transaction
from registry.domain.models import timestamp
from registry.outbound import OutboundClient, OutboundError
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.events")

_BY_SEVERITY: Sequence[WebhookEvent] = (
    "security_issue",
    "structure_error",
    "quality_warning",
    "all_checks_passed",
    *("rejected", "held", "approved"),
    *("revoke", "yank", "deprecate", "unyank", "undeprecate"),
)
_TIMEOUT_SECONDS = 5.0
_MAX_TRIES = 3
_STALE_SECONDS = 30.0
"""After this time, a try without a recorded result counts as interrupted."""
_POLL_SECONDS = 1.0
_DELAYS = (2.0, 10.0)
_IN_BASE64 = "whsec_"


class Checked(msgspec.Struct, kw_only=True):
    """The result of the check of one package. `findings` are the reasons for its refusal, or its warnings.

    `job_id` is the id of a publish job or of an installation. For a package refused at installation, only `skill_id`
    may be known. `review` is set where a package begins to wait for a review, or is approved or rejected in one for a
    `reason`.
    """

    job_id: str
    skill_id: str | None
    version: str | None
    scope: str | None
    checksum: str | None
    accepted: bool
    findings: Sequence[Any]
    review: Literal["held", "approved", "rejected"] | None = None
    reason: str | None = None

    def events(self) -> set[str]:
        """Return the step of a review; else the kinds of the findings, and `all_checks_passed` if accepted."""
        if self.review is not None:
            return {self.review}
        kinds = {str(msgspec.to_builtins(finding)["kind"]) for finding in self.findings}
        return kinds | {"all_checks_passed"} if self.accepted else kinds


class Logged(msgspec.Struct, kw_only=True):
    """An entry of the log that withdraws or restores a version, or a whole skill, which then has no `version`.

    `kind` is that of the entry, and `number` its place in the log.
    """

    number: int
    kind: str
    skill_id: str
    version: str | None
    checksum: str | None
    reason: str | None
    replacement: str | None


class Notice(msgspec.Struct, kw_only=True):
    """The body of a notification. `reason` and `replacement` are those of a withdrawal, and missing in others.

    A decision of a review has a `reason` too.
    """

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
    reason: str | None | UnsetType = UNSET
    replacement: str | None | UnsetType = UNSET


class WebhookSender:
    """Enqueues and sends notifications. Each hook gets one of a check or of an entry, tried at most three times."""

    def __init__(
        self, database: Database, hooks: WebhooksSettings, outbound: OutboundClient, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._hooks = dict(_configured(hooks))
        self._outbound = outbound
        self._clock = clock
        self._worker = PeriodicWorker("webhooks", self._round, _log, (DatabaseError,), longest=10.0)

    def enqueue(self, transaction: Transaction, checked: Checked) -> None:
        """Enqueue a notification for every hook that subscribes to the result, within the transaction."""
        fields: dict[str, Any] = {
            "job_id": checked.job_id,
            "skill_id": checked.skill_id,
            "version": checked.version,
            "scope": checked.scope,
            "checksum": checked.checksum,
            "findings": checked.findings,
        }
        if checked.review is None:
            self._enqueue(transaction, checked.events(), fields)
        else:
            fields |= {} if checked.reason is None else {"reason": checked.reason}
            self._enqueue(transaction, checked.events(), fields, key=f"{checked.job_id} {checked.review}")

    def enqueue_logged(self, transaction: Transaction, logged: Logged) -> None:
        """Enqueue a notification for every hook that subscribes to the kind of an entry, within the transaction."""
        fields: dict[str, Any] = {
            "job_id": f"log-{logged.number}",
            "skill_id": logged.skill_id,
            "version": logged.version,
            "scope": logged.skill_id.partition("/")[0],
            "checksum": logged.checksum,
            "findings": [],
            "reason": logged.reason,
            "replacement": logged.replacement,
        }
        self._enqueue(transaction, {logged.kind}, fields)

    def _enqueue(
        self, transaction: Transaction, events: Set[str], fields: Mapping[str, Any], key: str | None = None
    ) -> None:
        """Enqueue a notification of the most severe of some events for every hook that subscribes to any of them.

        A hook gets one notification of each `key`, by default the id of the job.
        """
        for name, hook in self._hooks.items():
            event = _most_severe(events & set(hook.events))
            if event is None:
                continue
            facts = {"id": secrets.token_hex(16), "event": event, "hook": name, "created_at": timestamp(self._clock())}
            notice = Notice(**facts, **fields)
            transaction.execute(
                "insert into deliveries (id, hook, job_id, event, body, state, tries, next_try)"
                " values (?, ?, ?, ?, ?, 'pending', 0, 0) on conflict (job_id, hook) do nothing",
                (notice.id, name, key or notice.job_id, event, msgspec.json.encode(notice).decode()),
            )

    def start(self) -> None:
        """Start sending, first the notifications of earlier processes."""
        if self._hooks:
            self._worker.start()

    def wake(self) -> None:
        """Wake the thread, since there may be notifications to send."""
        self._worker.wake()

    def stop(self) -> None:
        """Stop after the notification that is being sent."""
        self._worker.stop()

    def send_once(self) -> None:
        """Try every due notification once, for a short-lived command. A service tries the failed ones again."""
        if self._hooks:
            with self._worker.health.attempt():
                self._send_due()

    def _round(self) -> float:
        self._send_due()
        return _POLL_SECONDS

    def _send_due(self) -> None:
        sql = (
            "select id, hook, event, body, tries from deliveries where state = 'pending' and next_try <= ? order by id"
        )
        for delivery_id, name, event, body, tries in self._database.read(sql, (time.time(),)):
            if self._worker.is_stopped:
                return
            if self._begin_try(delivery_id, tries):
                problem = self._send(self._hooks.get(name), delivery_id, event, body)
                self._record_result(delivery_id, name, tries + 1, problem)

    def _begin_try(self, delivery_id: str, tries: int) -> bool:
        """Record a try before it starts, so that no other process makes it too. An interrupted try counts."""
        has_tries_left = tries < _MAX_TRIES
        with self._database.write() as transaction:
            claimed = transaction.execute(
                "update deliveries set state = ?, tries = ?, next_try = ?"
                " where id = ? and tries = ? and state = 'pending'",
                (
                    "pending" if has_tries_left else "failed",
                    tries + has_tries_left,
                    time.time() + _STALE_SECONDS,
                    delivery_id,
                    tries,
                ),
            )
        return bool(claimed) and has_tries_left

    def _send(self, hook: WebhookSettings | None, delivery_id: str, event: str, body: str) -> str | None:
        """Send one notification; return the problem, or None."""
        if hook is None or hook.url is None:
            return "the hook is not configured any more"
        headers = {
            "Content-Type": "application/json",
            "X-Skill-Event": event,
            "X-Skill-Delivery": delivery_id,
            **_signatures(hook, delivery_id, body.encode()),
        }
        try:
            status = self._outbound.post(hook.url.reveal(), body.encode(), headers, seconds=_TIMEOUT_SECONDS)
        except OutboundError as error:
            return str(error)
        return None if 200 <= status < 300 else f"the receiver answered with status {status}"

    def _record_result(self, delivery_id: str, name: str, tries: int, problem: str | None) -> None:
        state = "delivered" if problem is None else "failed" if tries >= _MAX_TRIES else "pending"
        next_try = time.time() + _DELAYS[min(tries, len(_DELAYS)) - 1]
        if problem is not None:
            _log.warning("webhook %s, try %d of %d: %s", name, tries, _MAX_TRIES, problem)
        with self._database.write() as transaction:
            transaction.execute(
                "update deliveries set state = ?, tries = ?, next_try = ? where id = ?",
                (state, tries, next_try, delivery_id),
            )


def _configured(hooks: WebhooksSettings) -> Iterator[tuple[str, WebhookSettings]]:
    for name in hooks.__struct_fields__:
        hook: WebhookSettings = getattr(hooks, name)
        if hook.url is not None:
            yield name, hook


def _most_severe(events: Collection[str]) -> WebhookEvent | None:
    return next((event for event in _BY_SEVERITY if event in events), None)


def _signatures(hook: WebhookSettings, delivery_id: str, body: bytes) -> dict[str, str]:
    """Return the id and the time of a try, and the signatures if a secret is configured."""
    stamp = str(int(time.time()))
    standard = {"webhook-id": delivery_id, "webhook-timestamp": stamp}
    if hook.secret is None:
        return standard
    secret = hook.secret.reveal()
    return {
        **standard,
        "webhook-signature": standard_signature(secret, delivery_id, stamp, body),
        "X-Skill-Signature": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
    }


def standard_signature(secret: str, delivery_id: str, stamp: str, body: bytes) -> str:
    """Return the signature of Standard Webhooks, version 1. `stamp` is the time in seconds since 1970.

    The key is the base64 behind `whsec_` of the secret, or the text of any other secret.
    """
    key = secret.encode()
    if secret.startswith(_IN_BASE64):
        with contextlib.suppress(binascii.Error):
            key = base64.b64decode(secret.removeprefix(_IN_BASE64), validate=True)
    signed = hmac.new(key, f"{delivery_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()
