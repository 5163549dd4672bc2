"""What can go wrong, each kind made by one constructor: `raise skill_not_found(id)`.

`STATUS` is the only table of error codes; a code and its status are the service's promise to its callers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

import msgspec

STATUS: Mapping[str, int] = {
    "VALIDATION_ERROR": 400,
    "UNAUTHORIZED": 401,
    "INVALID_TOKEN": 401,
    "FORBIDDEN": 403,
    "SKILL_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "CONFLICT": 409,
    "PRECONDITION_FAILED": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "URI_TOO_LONG": 414,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "EXPECTATION_FAILED": 417,
    "RATE_LIMITED": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL_ERROR": 500,
    "NOT_IMPLEMENTED": 501,
    "SERVICE_UNAVAILABLE": 503,
    "INSUFFICIENT_STORAGE": 507,
}


ROOT = "body"
"""The field name of an error that concerns the whole value."""


class FieldError(msgspec.Struct, frozen=True):
    """One broken rule: the field's dotted name as the caller wrote it, and what is wrong in plain words."""

    field: str
    message: str

    @property
    def line(self) -> str:
        """The rule for people who see no request: without its field if it is about the whole."""
        return self.message if self.field == ROOT else f"{self.field}: {self.message}"


class RegistryError(Exception):
    """A refusal the caller is told about; the constructors below are the only places that make one.

    Args:
        code: A key of `STATUS`.
        message: Plain words for the caller: never a path of ours, SQL or a traceback.
        details: The broken rules, at most `MAX_DETAILS`, when the code is `VALIDATION_ERROR`.
        headers: Headers the answer must carry, such as `Retry-After`.
    """

    def __init__(
        self, code: str, message: str, details: Sequence[FieldError] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = tuple(details)
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The HTTP status that belongs to the code."""
        return STATUS[self.code]

    @property
    def line(self) -> str:
        """The error in one line: every broken rule, or else the message."""
        return "; ".join(detail.line for detail in self.details) or self.message


def concerning(name: str, error: RegistryError) -> RegistryError:
    """Return an error with the name of what it is about in front of its texts."""
    details = [FieldError(detail.field, f"{name}: {detail.message}") for detail in error.details]
    return RegistryError(error.code, f"{name}: {error.message}", details, error.headers)


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def result_or_error(
    call: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result | RegistryError:
    """Return the result of a call, or the refusal that it raises: for one of many items, of which each may fail."""
    try:
        return call(*args, **kwargs)
    except RegistryError as refusal:
        return refusal


class ClientGoneError(Exception):
    """The caller hung up before its request was read: there is no client left to answer."""


MAX_DETAILS = 100
"""Broken rules that are named of one request."""


def validation_error(*details: FieldError, message: str | None = None) -> RegistryError:
    """Return the error for broken rules; without a message, the first fault is the message."""
    if message is None:
        first = f"{details[0].field}: {details[0].message}"
        message = first if len(details) == 1 else f"{first} (and {len(details) - 1} more)"
    return RegistryError("VALIDATION_ERROR", message, details[:MAX_DETAILS])


def bad_request(message: str) -> RegistryError:
    """Return the error for a request that breaks HTTP's own rules; the connection is not used again."""
    return RegistryError("VALIDATION_ERROR", message, headers={"Connection": "close"})


def unauthorized(message: str) -> RegistryError:
    """Return the error for a missing, malformed or unknown credential."""
    return RegistryError("UNAUTHORIZED", message, headers={"WWW-Authenticate": "Bearer"})


def forbidden(message: str) -> RegistryError:
    """Return the error for a caller who may not do this."""
    return RegistryError("FORBIDDEN", message)


def scope_needed() -> RegistryError:
    """Return the error for a credential without a scope, which cannot publish."""
    way = "'skill-registry admin keys create --role manager --scope NAME' makes a key with one"
    return forbidden(f"Publishing needs a scope, and this credential has none: {way}")


def skill_not_found(skill_id: str, version: str | None = None, *, hint: str = "") -> RegistryError:
    """Return the error for a skill, or one of its versions, that does not exist; the message names it.

    `hint` is a sentence that says what there is instead.
    """
    named = f"Skill '{skill_id}'" if version is None else f"Version '{version}' of skill '{skill_id}'"
    return RegistryError("SKILL_NOT_FOUND", f"{named} not found{f'. {hint}' if hint else ''}")


def withdrawn_skill(skill_id: str, why: str) -> RegistryError:
    """Return the error for a skill that has no version to install: all that fit were withdrawn."""
    return RegistryError("SKILL_NOT_FOUND", f"Skill '{skill_id}' has no version to install: {why}")


def not_found(what: str) -> RegistryError:
    """Return the error for anything else that does not exist: a route, a source, a job."""
    return RegistryError("NOT_FOUND", f"{what} not found")


def left_out(skill_id: str) -> RegistryError:
    """Return the error for a skill that the protocols of agentskills.io leave out because of its name."""
    name = skill_id.rpartition("/")[2]
    return RegistryError(
        "NOT_FOUND",
        f"Skill '{skill_id}' is left out: 'name' in its SKILL.md must be '{name}', and a name of agentskills.io",
    )


def method_not_allowed(method: str, allow: str) -> RegistryError:
    """Return the error for a method the route lacks; `allow` is the comma-separated list of those it has."""
    return RegistryError("METHOD_NOT_ALLOWED", f"{method} is not allowed here", headers={"Allow": allow})


def request_timeout(message: str) -> RegistryError:
    """Return the error for a request that did not arrive in time."""
    return RegistryError("REQUEST_TIMEOUT", message, headers={"Connection": "close"})


def conflict(message: str) -> RegistryError:
    """Return the error for a clash with what exists."""
    return RegistryError("CONFLICT", message)


def exists_already(message: str, location: str, etag: str | None = None) -> RegistryError:
    """Return the error for a clash with the requested thing itself, whose address is `location`, and its entity tag."""
    headers = {"Location": location} | ({} if etag is None else {"ETag": etag})
    return RegistryError("CONFLICT", message, headers=headers)


def precondition_failed(message: str = "The record has changed since it was read") -> RegistryError:
    """Return the error for a stale `If-Match`."""
    return RegistryError("PRECONDITION_FAILED", message)


def payload_too_large(limit: int) -> RegistryError:
    """Return the error for a body above `limit` bytes; the rest is not read, so the connection closes."""
    message = f"The body is larger than {limit:,} bytes"
    return RegistryError("PAYLOAD_TOO_LARGE", message, headers={"Connection": "close"})


def uri_too_long(limit: int) -> RegistryError:
    """Return the error for a request target above `limit` bytes."""
    message = f"The URL is longer than {limit:,} bytes"
    return RegistryError("URI_TOO_LONG", message, headers={"Connection": "close"})


def unsupported_media_type(message: str = "Send JSON with 'Content-Type: application/json'") -> RegistryError:
    """Return the error for a body that is not of the type the route reads."""
    return RegistryError("UNSUPPORTED_MEDIA_TYPE", message)


def expectation_failed() -> RegistryError:
    """Return the error for an `Expect` header with anything but `100-continue`."""
    message = "The only expectation this server can meet is 100-continue"
    return RegistryError("EXPECTATION_FAILED", message, headers={"Connection": "close"})


def headers_too_large(limit: int, count: int) -> RegistryError:
    """Return the error for headers above `limit` bytes in all or above `count` in number."""
    message = f"The headers are larger than {limit:,} bytes or more than {count}"
    return RegistryError("HEADERS_TOO_LARGE", message, headers={"Connection": "close"})


def rate_limited(message: str, retry_after: int) -> RegistryError:
    """Return the error for a caller who asks too often; `retry_after` is in seconds."""
    return RegistryError("RATE_LIMITED", message, headers={"Retry-After": str(retry_after)})


def invalid_token(message: str) -> RegistryError:
    """Return the error of `/auth/verify` for a token that is not valid, or not any more."""
    return RegistryError("INVALID_TOKEN", message, headers={"WWW-Authenticate": "Bearer"})


def internal_error(request_id: str) -> RegistryError:
    """Return the error for anything unexpected: what happened is in the log under the request id."""
    return RegistryError("INTERNAL_ERROR", f"Something went wrong here (request {request_id})")


def not_implemented(message: str) -> RegistryError:
    """Return the error for what HTTP allows and this server cannot do; the connection is not used again."""
    return RegistryError("NOT_IMPLEMENTED", message, headers={"Connection": "close"})


def service_unavailable(message: str, retry_after: int = 1) -> RegistryError:
    """Return the error for what cannot be done just now; `retry_after` is in seconds."""
    return RegistryError("SERVICE_UNAVAILABLE", message, headers={"Retry-After": str(retry_after)})


def insufficient_storage() -> RegistryError:
    """Return the error for a full disk."""
    return RegistryError("INSUFFICIENT_STORAGE", "The server has no space left to store this")
