"""Exchanges the identity token of a workflow for a token of this registry, as PyPI and crates.io do."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from registry.auth.access import Access
from registry.auth.issuing import TOO_MANY_FAILURES, Caller
from registry.auth.oidc.assertions import Assertions
from registry.auth.oidc.issuers import AssertionInvalid, IssuerDown, said
from registry.auth.oidc.publishers import GITHUB, TrustedPublisher, subject_of_publisher
from registry.domain.models import timestamp_of
from registry.domain.release_proofs import PUBLISHER_CHARACTERS, PublisherRun
from registry.domain.roles import Narrowing, Segment
from registry.errors import FieldError, service_unavailable, unauthorized, validation_error

LIFETIME_SECONDS = 900

_BAD_EVENTS = frozenset({"pull_request_target", "workflow_run"})
"""Events whose workflows run with the rights of a repository on what others have sent to it."""


class OidcTokenRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that exchanges an identity token. `scope` chooses one of several that the workflow may publish to."""

    token: Annotated[str, Meta(min_length=1, max_length=16 << 10)]
    scope: Segment | None = None


class OidcTokenData(msgspec.Struct, kw_only=True):
    """A token for 15 minutes that publishes to one scope; without `skills`, every skill of it."""

    token: str
    expires_at: str
    role: Literal["manager"] = "manager"
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the name of a scheme
    expires_in: int
    scope: str
    skills: list[str]


class OidcExchange:
    """Issues tokens for workflows.

    Args:
        access: Issues tokens and writes the audit log.
        assertions: Reads identity tokens.
        audience: What identity tokens must be for.
    """

    def __init__(self, access: Access, assertions: Assertions, audience: str) -> None:
        self._access = access
        self._assertions = assertions
        self.audience = audience

    def issue(self, request: OidcTokenRequest, caller: Caller) -> OidcTokenData:
        """Return a token for the workflow that an identity token is about.

        Raises UNAUTHORIZED, RATE_LIMITED, VALIDATION_ERROR where several scopes fit, SERVICE_UNAVAILABLE while the
        issuer does not answer.
        """
        self._access.limiter.refuse_after_failures(caller.address, TOO_MANY_FAILURES)
        try:
            issued = self._issued(request, caller)
        except IssuerDown as error:
            raise service_unavailable(f"The identity token cannot be checked now: {error}", 10) from None
        except AssertionInvalid as error:
            self._access.limiter.count_failure(caller.address)
            raise unauthorized(f"The identity token is refused: {error}") from None
        self._access.limiter.forgive(caller.address)
        return issued

    def _issued(self, request: OidcTokenRequest, caller: Caller) -> OidcTokenData:
        publishers = self._access.publishers
        claims = self._assertions.read(request.token, self.audience, lambda issuer: bool(publishers.of_issuer(issuer)))
        issuer = claims["iss"]
        event = claims.get("event_name")
        if event in _BAD_EVENTS or (issuer == GITHUB and not isinstance(event, str)):
            raise AssertionInvalid(f"a workflow that the event {str(event)[:50]!r} has started publishes nothing")
        matching = [publisher for publisher in publishers.of_issuer(issuer) if publisher.matches(claims)]
        if not matching:
            raise AssertionInvalid("no publisher is registered for its workflow")
        scope = _scope(matching, request.scope)
        chosen = [publisher for publisher in matching if publisher.scope == scope]
        takes_all = any(not publisher.skills for publisher in chosen)
        skills = [] if takes_all else [pattern for publisher in chosen for pattern in publisher.skills]
        return self._sign(chosen[0], tuple(dict.fromkeys(skills)), claims, caller)

    def _sign(
        self, publisher: TrustedPublisher, skills: tuple[str, ...], claims: Mapping[str, Any], caller: Caller
    ) -> OidcTokenData:
        """Return a signed token, once for each identity token. Raises AssertionInvalid."""
        access, subject = self._access, subject_of_publisher(publisher.id)
        run = _run(claims)
        # Before the use is recorded, which fails for a publisher that is gone: a removal after that ends the token.
        since = access.revocations.earliest_issue(subject)
        with access.database.write() as transaction:
            if not access.publishers.use(transaction, publisher.id, claims["iss"], claims["jti"], claims["exp"]):
                raise AssertionInvalid("it was used before")
        token, signed = access.tokens.issue(
            subject,
            "manager",
            publisher.scope,
            at=since,
            until=since + LIFETIME_SECONDS,
            narrowing=Narrowing(("publish",), skills),
            publisher=run,
        )
        access.audit.record(
            "issue token",
            f"manager token {signed.jti} for {subject}: {run.repository or claims.get('sub', '')} run {run.run_id}",
            actor=subject,
            role="manager",
            request_id=caller.request_id,
            client=caller.address,
        )
        return OidcTokenData(
            token=token,
            expires_at=timestamp_of(signed.exp),
            expires_in=signed.exp - signed.iat,
            scope=publisher.scope,
            skills=list(skills),
        )


def _scope(matching: list[TrustedPublisher], scope: str | None) -> str:
    """Return the scope to publish to. Raises AssertionInvalid, VALIDATION_ERROR where the request must choose."""
    scopes = sorted({publisher.scope for publisher in matching})
    if scope is not None:
        if scope not in scopes:
            raise AssertionInvalid(f"its workflow may not publish to the scope '{scope}'")
        return scope
    if len(scopes) > 1:
        raise validation_error(FieldError("scope", f"is required: the workflow may publish to {', '.join(scopes)}"))
    return scopes[0]


def _run(claims: Mapping[str, Any]) -> PublisherRun:
    """Return what the log says about a workflow, from its claims: texts of one line, without what is no text."""

    def text(*names: str) -> str:
        claim = next((claims[name] for name in names if isinstance(claims.get(name), str)), "")
        return said(claim, PUBLISHER_CHARACTERS)

    return PublisherRun(
        issuer=text("iss"),
        repository=text("repository", "project_path"),
        workflow_ref=text("workflow_ref", "job_workflow_ref", "ci_config_ref_uri") or text("sub"),
        ref=text("ref"),
        sha=text("sha"),
        run_id=text("run_id", "pipeline_id"),
    )
