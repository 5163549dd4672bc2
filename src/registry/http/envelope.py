"""The one place that shapes responses: `Ok` for a success, `error_answer` for every error.

Handlers return `Ok`; errors are raised (`registry.errors`) and meet `answer_exception`, the application's
only exception handler. The guard and the protocol refuse requests before the application sees them, with the
same `error_answer`.
"""

import errno
import logging
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import Send
from msgspec import UNSET, UnsetType

from registry import errors
from registry.db import DatabaseFull, DatabaseUnavailable, DatabaseUnusable
from registry.domain.addresses import redact_text
from registry.errors import ClientGoneError, FieldError, RegistryError
from registry.http.request_id import request_id_of

_log = logging.getLogger("registry.http")

_Data = TypeVar("_Data")

CLIENT_GONE = 499
"""Logged when the caller closed the connection. The number is nginx's convention."""

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_READING = frozenset({"GET", "HEAD"})


class Pagination(msgspec.Struct):
    """The page of a list: the total, and the limit and offset that were used."""

    total: int
    limit: int
    offset: int


class Ok(msgspec.Struct, Generic[_Data]):
    """The envelope of a success. `pagination` is present for paged lists only."""

    data: _Data
    pagination: Pagination | UnsetType = UNSET
    success: Literal[True] = True


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """An error: its code, a message, and the field errors of a request that broke rules."""

    code: str
    message: str
    details: tuple[FieldError, ...] = ()


class Failure(msgspec.Struct):
    """The envelope of an error."""

    error: ErrorBody
    success: Literal[False] = False


class HttpResponse(NamedTuple):
    """A whole response, ready for any layer to send. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def error_body(error: RegistryError) -> ErrorBody:
    """Return an error as responses show it: without the passwords of URLs."""
    details = tuple(FieldError(redact_text(detail.field), redact_text(detail.message)) for detail in error.details)
    return ErrorBody(error.code, redact_text(error.message), details)


def error_answer(error: RegistryError) -> HttpResponse:
    """Return the response for `error`."""
    body = msgspec.json.encode(Failure(error_body(error)))
    headers = {name.lower(): value for name, value in error.headers.items()}
    headers |= {"content-type": "application/json", "content-length": str(len(body))}
    return HttpResponse(error.status, headers, body)


async def send_answer(send: Send, answer: HttpResponse) -> None:
    """Send `answer` from plain ASGI code."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def answer_exception(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Turn any exception of a handler into a response: `Litestar(exception_handlers={Exception: answer_exception})`."""
    if isinstance(exception, ClientGoneError):
        return Response(b"", status_code=CLIENT_GONE, media_type="application/json")
    status, headers, body = error_answer(error_of(request, exception))
    return Response(body, status_code=status, headers=dict(headers), media_type="application/json")


def error_of(request: Request[Any, Any, Any], exception: Exception) -> RegistryError:
    """Return the error that `exception` stands for. An internal error is logged."""
    error = as_registry_error(exception, request.method)
    if error is None:
        request_id = request_id_of(request.scope)
        _log.error("request %s failed", request_id, exc_info=exception)
        error = errors.internal_error(request_id)
    return error


def as_registry_error(exception: Exception, method: str) -> RegistryError | None:
    """Return the client error that `exception` stands for, None if the fault is ours."""
    if isinstance(exception, RegistryError):
        return exception
    if isinstance(exception, HTTPException):
        return _framework_error(exception, method)
    if isinstance(exception, DatabaseUnavailable | DatabaseUnusable):
        _log.warning("the database cannot be used: %s", exception)
        return errors.service_unavailable("The catalog cannot be written or read just now")
    if isinstance(exception, DatabaseFull) or (isinstance(exception, OSError) and exception.errno in _DISK_FULL):
        return errors.insufficient_storage()
    if isinstance(exception, OSError) and exception.errno in _READ_ONLY and method not in _READING:
        _log.warning("a change is refused: %s", exception)
        return errors.forbidden("The server may not write this: the folder or file is read-only for it")
    return None


def _framework_error(exception: HTTPException, method: str) -> RegistryError | None:
    if exception.status_code == 405:
        return errors.method_not_allowed(method, _with_head((exception.headers or {}).get("allow", "")))
    if exception.status_code == 400:
        return _invalid_request(exception)
    make = _FRAMEWORK_ERRORS.get(exception.status_code)
    return make() if make else None


def _with_head(allow: str) -> str:
    """Return the methods of an `Allow` header, and `HEAD` where there is `GET` (`http.implied_methods`)."""
    methods = set(allow.split(", "))
    return ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))


_FRAMEWORK_ERRORS: Mapping[int, Callable[[], RegistryError]] = {
    401: lambda: errors.unauthorized("Authentication is required"),
    403: lambda: errors.forbidden("You may not do this"),
    404: lambda: errors.not_found("Route"),
    415: errors.unsupported_media_type,
}


def _invalid_request(exception: HTTPException) -> RegistryError:
    details = exception.extra if isinstance(exception.extra, list) else []
    faults = [
        FieldError(str(fault.get("key", "request")), str(fault.get("message", "is not valid"))) for fault in details
    ]
    return errors.validation_error(*faults or [FieldError("request", "is not valid")])
