"""Reads JSON that other programs wrote: answers of servers, and files that users may have changed."""

from typing import Any, TypeVar, overload

import msgspec

from registry.parsing.text_encoding import without_mark

_T = TypeVar("_T")


class JsonUnreadable(ValueError):
    """A text is not JSON of the requested type; the message says why."""


@overload
def read_json(content: bytes | msgspec.Raw) -> Any: ...
@overload
def read_json(content: bytes | msgspec.Raw, kind: type[_T]) -> _T: ...
def read_json(content: bytes | msgspec.Raw, kind: Any = Any) -> Any:
    """Return JSON text as a `kind`. Unlike `strict_json`, it ignores unknown fields and a byte order mark.

    Raises:
        JsonUnreadable: It is not JSON, not UTF-8, nested too deeply, or not of this type.
    """
    try:
        return msgspec.json.decode(without_mark(content) if isinstance(content, bytes) else content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise JsonUnreadable(str(error)) from None
    except RecursionError:
        raise JsonUnreadable("it is nested too deeply") from None
