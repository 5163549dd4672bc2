"""The callers of a private scope: those of the service that are members of it."""

from registry.auth.access import Access, Headers, NotCachedError
from registry.auth.audit import Audit
from registry.auth.private_scopes import PrivateScopes
from registry.auth.rate_limits import Quota, Rate
from registry.domain.roles import Principal
from registry.errors import not_found


class ScopeAccess(Access):
    """Authenticates requests within a private scope by the credentials of the service. The audit log is its own.

    `service` is the access of the service with its private `scopes`, `scope` the name of this one, `audit` its log.
    """

    def __init__(self, service: Access, scopes: PrivateScopes, scope: str, audit: Audit) -> None:
        vars(self).update(vars(service))  # the same tokens, keys, revocations and counts, which are not made twice
        self.audit = audit
        self._service = service
        self._scope = scope
        self._scopes = scopes

    def identify(self, headers: Headers, *, use_cache: bool = True, only_cache: bool = False) -> Principal | None:
        """Return the member whose credential is in these headers; None without a credential.

        Raises UNAUTHORIZED for an invalid credential, and NOT_FOUND for one of another user.
        """
        if only_cache:
            raise NotCachedError  # whether the caller is a member is in the database
        principal = self._service.identify(headers, use_cache=use_cache)
        return None if principal is None else self._member(principal)

    def count(
        self, headers: Headers, address: str, role: str, rate: Rate, *, only_cache: bool = False
    ) -> tuple[Principal, Quota]:
        """Count a request against the limit that the caller has at the service; return the member and the quota.

        Raises UNAUTHORIZED, NOT_FOUND for a caller who is no member, and NotCachedError as `identify`.
        """
        if only_cache:
            raise NotCachedError
        principal, quota = self._service.count(headers, address, role, rate)
        return self._member(principal), quota

    def _member(self, principal: Principal) -> Principal:
        member = self._scopes.acting(principal, self._scope)
        if member is None:
            raise not_found("Route")
        return member

    def close(self) -> None:
        """Nothing is pending here: what is shared belongs to the service."""
