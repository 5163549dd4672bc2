"""What the layers of the application know of one request, in one typed object."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from registry.domain.roles import Principal

_KEY = "registry"

_Headers = Sequence[tuple[bytes, bytes]]


class RequestState:
    """The state of one request.

    Attributes:
        request_id: The id of the request, empty until `request_id_of` settles it.
        principal: Who makes the request, None until the caller is admitted.
        sender: Whose credential the request carries, admitted or not; None until it is read.
        ignored_query: The names in the query string that the operation does not have, percent-encoded.
        response_headers: Headers that the response carries besides its own, whatever part of the service makes it.
        valid_at: The catalog revision at which the response may be cached, None where it may not.
        is_head: Whether only the head of the response is wanted (`HEAD`); handlers see such a request as a `GET`.
        base_path: The path below which the caller reaches the service, such as `/hub`; empty for none.
        is_gone: Returns whether the caller has disconnected. Safe to call from any thread.
    """

    __slots__ = (
        "_resources",
        "base_path",
        "ignored_query",
        "is_gone",
        "is_head",
        "principal",
        "request_id",
        "response_headers",
        "sender",
        "valid_at",
    )

    def __init__(self) -> None:
        self.request_id = ""
        self.principal: Principal | None = None
        self.sender: Principal | None = None
        self.ignored_query: Sequence[str] = ()
        self.response_headers: _Headers = ()
        self.valid_at: int | None = None
        self.is_head = False
        self.base_path = ""
        self.is_gone: Callable[[], bool] = _is_here
        self._resources: ExitStack | None = None

    def at_end(self, close: Callable[[], object]) -> None:
        """Call a function when the request ends, however it ends; the last one first."""
        self._resources = self._resources or ExitStack()
        self._resources.callback(close)

    def end(self) -> None:
        """Call the functions of `at_end`. For the outermost layer."""
        if self._resources is not None:
            self._resources.close()


def _is_here() -> bool:
    return False


def request_state(scope: Any) -> RequestState:
    """Return the state of the request that the ASGI `scope` describes."""
    states: dict[str, Any] = scope.setdefault("state", {})
    state: RequestState | None = states.get(_KEY)
    if state is None:
        state = states[_KEY] = RequestState()
    return state
