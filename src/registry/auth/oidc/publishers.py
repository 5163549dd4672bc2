"""Trusted publishers: which workflows may publish to which scope without a secret. Administrators register them."""

import datetime
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from registry.auth.keys import KeyName
from registry.auth.own_tokens import SkillPatterns
from registry.auth.revocations import Revocations
from registry.db import Database, Reader, Row, Transaction
from registry.domain.hosts import is_private_url
from registry.domain.models import timestamp
from registry.domain.release_proofs import PublisherText
from registry.domain.roles import Segment, scope_of
from registry.errors import FieldError, not_found, unauthorized, validation_error

GITHUB = "https://token.actions.githubusercontent.com"
"""The issuer of GitHub Actions."""

WORKFLOW = "job_workflow_ref"
"""A claim that ends with the branch or tag, `@refs/…`: registered without one, it stands for all of them."""

_REFUSED = frozenset({"iss", "aud", "exp", "iat", "nbf", "jti"})
_COLUMNS = "id, name, scope, skills, issuer, claims, created_at, last_used_at"

ClaimName = Annotated[
    str,
    Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.:/-]{0,99}$(?!\n)", extra={"rule": "each must be the name of a claim"}),
]
ClaimValue = Annotated[PublisherText, Meta(min_length=1)]
RepositoryName = Annotated[
    str,
    Meta(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$(?!\n)", extra={"rule": "must be OWNER/REPOSITORY"}),
]
OwnerId = Annotated[str, Meta(pattern=r"^[0-9]{1,20}$(?!\n)", extra={"rule": "must be the number of the owner"})]
WorkflowFile = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_.-]{1,200}\.ya?ml$(?!\n)",
        extra={"rule": "must be the name of a file in .github/workflows, such as publish.yml"},
    ),
]


class GitHubWorkflow(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A workflow of GitHub Actions. `owner_id` is the number of the owner, because a name can get another owner."""

    repository: RepositoryName
    owner_id: OwnerId
    workflow: WorkflowFile
    environment: ClaimValue | None = None

    def claims(self) -> dict[str, str]:
        """Return the claims that the identity tokens of the workflow have."""
        path = f"{self.repository}/.github/workflows/{self.workflow}"
        claims = {"repository": self.repository, "repository_owner_id": self.owner_id, WORKFLOW: path}
        return claims | ({"environment": self.environment} if self.environment else {})


class NewTrustedPublisher(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that registers a publisher: `github`, or an `issuer` with the `claims` that its tokens must have."""

    name: KeyName
    scope: Segment
    skills: SkillPatterns = msgspec.field(default_factory=list)
    github: GitHubWorkflow | None = None
    issuer: Annotated[str, Meta(max_length=500)] | None = None
    claims: Annotated[dict[ClaimName, ClaimValue], Meta(max_length=20)] = msgspec.field(default_factory=dict)


class TrustedPublisher(msgspec.Struct, kw_only=True):
    """A workflow that may publish to a scope; without `skills`, every skill of it."""

    id: str
    name: str
    scope: str
    skills: list[str]
    issuer: str
    claims: dict[str, str]
    created_at: str
    last_used_at: str | None

    def matches(self, claims: Mapping[str, Any]) -> bool:
        """Return whether an identity token of the issuer has these claims: the same texts, and no lists of texts."""
        return all(_is_same(name, value, claims.get(name)) for name, value in self.claims.items())


class TrustedPublishers:
    """Registers publishers. A removal takes effect at once in every process on the database."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime], revocations: Revocations) -> None:
        self._database = database
        self._clock = clock
        self._revocations = revocations

    def add(self, new: NewTrustedPublisher) -> TrustedPublisher:
        """Register a publisher. Raises VALIDATION_ERROR."""
        issuer, claims = _issuer_and_claims(new)
        if others := [pattern for pattern in new.skills if scope_of(pattern) != new.scope]:
            raise validation_error(FieldError("skills", f"'{others[0]}' is outside the scope '{new.scope}'"))
        entry = TrustedPublisher(
            id=secrets.token_hex(6),
            name=new.name,
            scope=new.scope,
            skills=new.skills,
            issuer=issuer,
            claims=claims,
            created_at=timestamp(self._clock()),
            last_used_at=None,
        )
        with self._database.write() as transaction:
            transaction.execute(
                f"insert into trusted_publishers ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?)",
                (entry.id, entry.name, entry.scope, _json(entry.skills), issuer, _json(claims), entry.created_at, None),
            )
            transaction.touched.append(f"publisher {entry.id} of {entry.scope}: {issuer} {_json(claims)}")
        return entry

    def remove(self, publisher_id: str) -> None:
        """Remove a publisher, and revoke the tokens it has got. Raises NOT_FOUND."""
        with self._database.write(urgent=True) as transaction:
            if not transaction.execute("delete from trusted_publishers where id = ?", (publisher_id,)):
                raise not_found(f"Publisher '{publisher_id[:64]}'")
            self._revocations.revoke_all(transaction, subject_of_publisher(publisher_id))
        self._revocations.bump()

    def list(self, limit: int, offset: int) -> tuple[list[TrustedPublisher], int]:
        """Return one page of the publishers, by scope, and their number."""
        sql = f"select {_COLUMNS} from trusted_publishers order by scope, created_at, id limit ? offset ?"
        total = self._database.read("select count(*) from trusted_publishers")[0][0]
        return [_publisher(row) for row in self._database.read(sql, (limit, offset))], int(total)

    def of_issuer(self, issuer: str) -> Sequence[TrustedPublisher]:
        """Return the publishers of an issuer."""
        sql = f"select {_COLUMNS} from trusted_publishers where issuer = ? order by created_at, id"
        return [_publisher(row) for row in self._database.read(sql, (issuer,))]

    def use(self, transaction: Transaction, publisher_id: str, issuer: str, jti: str, expires: int) -> bool:
        """Record the use of a publisher and of an identity token. Return whether the token was not used before.

        Raises UNAUTHORIZED for a publisher that is gone.
        """
        now = self._clock()
        if not is_first_use(transaction, now, f"{issuer}\0{jti}", expires):
            return False
        sql = "update trusted_publishers set last_used_at = ? where id = ?"
        if not transaction.execute(sql, (timestamp(now), publisher_id)):
            raise unauthorized("The publisher was removed just now")
        return True

    def trusted_scopes(self) -> Sequence[str]:
        """Return the scopes that only trusted publishers publish to."""
        return [name for (name,) in self._database.read("select name from trusted_scopes order by name")]

    def set_trusted_only(self, scope: str, *, only: bool) -> None:
        """Let only trusted publishers publish to a scope, or everybody with the role."""
        sql = "insert into trusted_scopes (name) values (?) on conflict do nothing"
        with self._database.write() as transaction:
            transaction.execute(sql if only else "delete from trusted_scopes where name = ?", (scope,))
            transaction.touched.append(f"{scope}: {'trusted publishers only' if only else 'everybody with the role'}")


def is_first_use(transaction: Transaction, now: datetime.datetime, text: str, expires: int) -> bool:
    """Record that something is used which works once and expires then, in seconds since 1970. Return whether it did."""
    # Those that have expired are refused for that, some time ago so that no clock of a replica is behind.
    transaction.execute("delete from used_assertions where expires_at < ?", (int(now.timestamp()) - 3600,))
    sql = "insert into used_assertions (id, expires_at) values (?, ?) on conflict do nothing"
    return bool(transaction.execute(sql, (hashlib.sha256(text.encode()).hexdigest(), expires)))


def is_trusted_only(reader: Reader, scope: str) -> bool:
    """Return whether only trusted publishers publish to a scope."""
    return bool(reader.read("select 1 from trusted_scopes where name = ?", (scope,)))


def subject_of_publisher(publisher_id: str) -> str:
    """Return the subject of a publisher in tokens, jobs and the audit log."""
    return f"publisher-{publisher_id}"


def _is_same(name: str, pattern: str, claim: object) -> bool:
    if name == WORKFLOW and "@" not in pattern and isinstance(claim, str):
        claim = claim.partition("@")[0]
    return isinstance(claim, str) and claim == pattern


def _issuer_and_claims(new: NewTrustedPublisher) -> tuple[str, dict[str, str]]:
    """Return the issuer of a new publisher, and the claims of its tokens. Raises VALIDATION_ERROR."""
    if new.github is not None:
        if new.issuer is not None or new.claims:
            raise validation_error(FieldError("github", "cannot be combined with issuer and claims: send one of them"))
        return GITHUB, new.github.claims()
    if new.issuer is None or not new.claims:
        raise validation_error(FieldError("issuer", "is required with claims, or send github"))
    if not (is_private_url(new.issuer) and _is_plain(new.issuer) and new.issuer.isprintable() and new.issuer.isascii()):
        raise validation_error(FieldError("issuer", "must be an https URL without a query, as its tokens name it"))
    if refused := sorted(_REFUSED & new.claims.keys()):
        raise validation_error(FieldError("claims", f"'{refused[0]}' is checked for every token: leave it out"))
    return new.issuer, new.claims


def _is_plain(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.hostname) and not (parts.query or parts.fragment or parts.username)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _publisher(row: Row) -> TrustedPublisher:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    for name in ("skills", "claims"):
        values[name] = msgspec.json.decode(values[name])
    return TrustedPublisher(**values)
