"""The costly steps of a request, for a recorder: a name for each, and nothing of what it works on.

A recorder belongs to the context (`contextvars`) of one request. Without one, a step costs a look at a variable.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

Recorder = Callable[[str], AbstractContextManager[Any]]
"""Returns the block that is one step, by its name. Called from any thread that works for the request."""

UNRECORDED = nullcontext()

recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
"""Who records the steps of the request; None without a recorder."""


def in_step(name: str) -> AbstractContextManager[Any]:
    """Return the block of a step. The name is a constant of the code."""
    record = recorder.get()
    return UNRECORDED if record is None else record(name)


def step(name: str) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Make every call of a function a step."""

    def wrap(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @functools.wraps(function)
        def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            record = recorder.get()
            if record is None:
                return function(*args, **kwargs)
            with record(name):
                return function(*args, **kwargs)

        return run

    return wrap
