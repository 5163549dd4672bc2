"""What the registry profile adds to the local one: access, token issuing, the log, metrics."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from registry.auth.access import Access
from registry.auth.audit import AuditRemoval
from registry.auth.issuing import TokenIssuer, issuer_mode
from registry.auth.oidc.assertions import Assertions
from registry.auth.oidc.devices import Devices
from registry.auth.oidc.exchange import OidcExchange
from registry.auth.oidc.issuers import Issuers
from registry.auth.oidc.sign_in import SignIn
from registry.auth.proxy_notice import ProxyNotice
from registry.auth.rate_sharing import RateLimitSync
from registry.auth.shared_counts import SharedCounts
from registry.config.settings import Settings
from registry.db import Database
from registry.domain.release_proofs import ReleaseProof
from registry.errors import skill_not_found
from registry.outbound.configured import outbound_client
from registry.publish.index_log import IndexLog
from registry.runtime.metrics import Metrics
from registry.transparency.checkpoint import LogCheckpoint, Signer
from registry.transparency.fork import refuse_if_forked
from registry.transparency.fork_guard import ForkGuard
from registry.transparency.log import Kind, LogEntry, TransparencyLog
from registry.transparency.merkle import Hash
from registry.transparency.release_proof import encode_hashes
from registry.transparency.witnesses import Cosignatures, Witness, WitnessWorker


class PublishProof(ReleaseProof, kw_only=True, frozen=True):
    """The proof of a published version. `size` is the number of entries that its checkpoint signs."""

    size: int


class Advisory(msgspec.Struct, kw_only=True):
    """An entry of the log that withdraws or restores something, its inclusion proof in base64, and what it says.

    `version` is null for an entry about a whole skill.
    """

    number: int
    kind: Kind
    skill_id: str
    version: str | None
    at: str
    reason: str | None
    replacement: str | None
    entry: str
    proof: list[str]


class Advisories(msgspec.Struct, kw_only=True):
    """Advisories in order, with the checkpoint of `size` entries that their proofs are for.

    The next page begins after `last`; if `complete`, it is empty so far.
    """

    checkpoint: str
    size: int
    last: int
    complete: bool
    advisories: list[Advisory]


class RegistryProfile:
    """The services of the registry profile. `access` is that of a private scope. Raises WeakSecret."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        metrics: Metrics,
        clock: Callable[[], datetime],
        worker: int = 0,
        access: Access | None = None,
    ) -> None:
        self.metrics = metrics
        self.signer = log_signer(settings)
        self._database = database
        self._clock = clock
        self.log = TransparencyLog(database, clock)
        self._guard = ForkGuard(database, self.log)
        self._cosignatures = Cosignatures(database, configured_witnesses(settings))
        self.witnesses = WitnessWorker(settings, self.log, self._guard, self._cosignatures, self._sign)
        if not database.is_read_only:
            self.log.record_key(self.signer.verifier_key)
        counts = None
        if access is None and settings.server.workers > 1 and not settings.is_replicated:
            counts = SharedCounts.opened(settings.data_dir, worker, settings.server.workers)
        self.access = access or Access(settings, database, clock, counts)
        shares = access is None and settings.has_other_processes and counts is None and not database.is_read_only
        self._sharing = RateLimitSync(database, self.access.limiter) if shares else None
        self.audit_removal = AuditRemoval(self.access.audit, settings.audit.keep_days, clock)
        self.proxies = ProxyNotice()
        self.issuer = TokenIssuer(self.access, issuer_mode(settings), self.proxies)
        public_url = settings.server.public_url
        audience = public_url.reveal().rstrip("/") if public_url else "skill-registry"
        issuers = Issuers(outbound_client(settings.outbound))
        self.oidc = OidcExchange(self.access, Assertions(issuers, clock), audience)
        self.sign_in = SignIn(settings.auth.oidc, self.access, self.issuer, issuers, clock)
        self.devices = Devices(self.sign_in, issuers, self.access)

    def start(self) -> None:
        """Start to share rate limit counts with other processes."""
        if self._sharing is not None:
            self._sharing.start()

    def checkpoint(self) -> str:
        """Return the signed checkpoint of the log, with the time and cosignatures of witnesses. Raises LogForked."""
        return self._current(self.log.size())

    def _current(self, size: int) -> str:
        return self._signed(size) + self.signer.time_line(size, self.log.root(size), int(self._clock().timestamp()))

    def _signed(self, size: int) -> str:
        checkpoint = LogCheckpoint(self.signer.name, size, self.log.root(size))
        return self._sign(size) + self._cosignatures.lines(checkpoint)

    def _sign(self, size: int) -> str:
        refuse_if_forked(self._database)
        return self.signer.sign(size, self.log.root(size))

    def index_log(self) -> IndexLog:
        """Return the log in the index."""
        return IndexLog(self.signer.name, self.log, self._guard, self._signed)

    def problems(self) -> dict[str, str]:
        """Return what keeps the registry from publishing."""
        fork = self.log.fork()
        return {} if fork is None else {"log": fork.message}

    def publish_proof(self, skill_id: str, version: str) -> PublishProof:
        """Return the log entry of a published version and its proof. Raises SKILL_NOT_FOUND, LogForked."""
        record = self.log.publish_entry(skill_id, version)
        if record is None:
            raise skill_not_found(skill_id, version)
        number, entry = record
        size = self.log.size()
        proof = encode_hashes(self.log.inclusion(number, size))
        return PublishProof(checkpoint=self._signed(size), size=size, number=number, entry=entry, proof=proof)

    def advisories(self, after: int, limit: int) -> Advisories:
        """Return at most `limit` entries beyond number `after` that withdraw or restore something. Raises LogForked."""
        size = self.log.size()
        withdrawals = self.log.withdrawals(after, limit + 1)
        return advisories_of(withdrawals, after, limit, self._current(size), size, self.log.inclusion)

    def close(self) -> None:
        """Write what is still pending."""
        if self._sharing is not None:
            self._sharing.stop()
        self.access.close()


def advisories_of(
    found: Sequence[tuple[int, str]],
    after: int,
    limit: int,
    checkpoint: str,
    size: int,
    inclusion: Callable[[int, int], list[Hash]],
) -> Advisories:
    """Return at most `limit` of the entries that were found beyond number `after`, of one more than that.

    `checkpoint` signs `size` entries, of which `inclusion` returns the proofs.
    """
    within = [(number, text) for number, text in found if number < size]
    page, complete = within[:limit], len(within) <= limit
    return Advisories(
        checkpoint=checkpoint,
        size=size,
        last=max(after, size - 1) if complete else page[-1][0],
        complete=complete,
        advisories=[_advisory(number, text, inclusion(number, size)) for number, text in page],
    )


def _advisory(number: int, text: str, proof: list[Hash]) -> Advisory:
    """Return an entry that withdraws or restores something, with its inclusion proof."""
    entry = msgspec.json.decode(text, type=LogEntry)
    return Advisory(
        number=number,
        kind=entry.kind,
        skill_id=str(entry.skill_id),
        version=entry.version,
        at=entry.at,
        reason=entry.reason,
        replacement=entry.replacement,
        entry=text,
        proof=encode_hashes(proof),
    )


def configured_witnesses(settings: Settings) -> list[Witness]:
    """Return the witnesses of the settings. Raises KeyUnusable."""
    return [Witness(setting) for setting in settings.transparency.witnesses]


def log_signer(settings: Settings) -> Signer:
    """Return the signer of the log. Raises PrivateFileExposed, KeyUnusable, OSError."""
    key = settings.transparency.key
    return Signer(settings.data_dir, settings.transparency.name, key.reveal() if key else None)
