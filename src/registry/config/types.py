"""The types of settings: parsing, validation, redaction and descriptions for messages."""

import re
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta, inspect

from registry.domain.addresses import redact_url
from registry.domain.file_names import is_text

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+=[!-~](?:[ !-~]*[!-~])?")


class Secret:
    """A text that is redacted in every output: only `reveal()` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return "***"


class HeaderList(Secret):
    """Headers of requests, `NAME=VALUE,NAME=VALUE`. Values are percent-encoded. Raises ValueError for anything else."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(text)
        if not all(_HEADER.fullmatch(f"{name}={value}") for name, value in self.pairs().items()):
            raise ValueError

    def pairs(self) -> dict[str, str]:
        """Return the headers by name, decoded."""
        parts = [part.strip().partition("=") for part in self._text.split(",")]
        return {name.strip(): unquote(value.strip()) for name, _, value in parts}


class Url(Secret):
    """A URL whose `repr` omits user, password, query and fragment."""

    __slots__ = ()

    def __repr__(self) -> str:
        return redact_url(self._text)


class HttpUrl(Url):
    """An http or https URL. Raises ValueError for anything else."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", text):
            raise ValueError(text)
        super().__init__(text)


class ServerUrl(HttpUrl):
    """The base URL of a server: no user, query or fragment. Raises ValueError for anything else."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(text)
        parts = urlsplit(text)
        if "@" in parts.netloc or "?" in text or "#" in text:
            raise ValueError(text)


class DatabaseUrl(Url):
    """The URL of a SQLite file, `sqlite:///PATH`, or of a PostgreSQL database. Raises ValueError for anything else."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if not re.fullmatch(r"sqlite:///(?!:memory:)[^?#\0]+|postgresql://[^\s\0]+", text):
            raise ValueError(text)
        super().__init__(text)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL."""
        is_file = self._text.startswith(_SQLITE)
        return Path(self._text.removeprefix(_SQLITE)).absolute() if is_file else None

    def __repr__(self) -> str:
        return self._text if self.file else "postgresql://***"


_SQLITE = "sqlite:///"


Address = Annotated[
    str,
    Meta(
        pattern=r"\A([A-Za-z0-9._-]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*)\Z",
        title="a host name or IP address",
    ),
]
Host = Annotated[
    str,
    Meta(
        pattern=r"\A([A-Za-z0-9._-]+|\[[0-9A-Fa-f.:]+\])\Z",
        title="a host name or address without scheme and port",
    ),
]
Origin = Annotated[
    str,
    Meta(pattern=r"\A(\*|https?://[^/\s,@?#*]+)\Z", title="an origin such as https://example.org, or a single *"),
]
ReachableHost = Annotated[
    str,
    Meta(
        pattern=r"\A([A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f.:]+\](:[0-9]{1,5})?|[0-9A-Fa-f.:]+/[0-9]{1,3})\Z",
        title="a host, host:port or network such as 10.1.0.0/16",
    ),
]
Network = Annotated[
    str,
    Meta(pattern=r"\A[0-9A-Fa-f.:]+(/[0-9]{1,3})?\Z", title="an address or network such as 10.1.0.0/16"),
]
CopyUrl = Annotated[
    str,
    Meta(pattern=r"\Ahttps?://[^\s,@/]+(/[^\s,]*)?\Z", title="an http:// or https:// URL without a user"),
]
AllowedOrigin = Annotated[
    str,
    Meta(
        pattern=r"\A(local|registry|https?://[^\s,@?#]+)\Z",
        title="local, registry, or an http:// or https:// URL without a user and a query",
    ),
]
BucketPart = Annotated[
    str,
    Meta(pattern=r"\A[^/\s]+(/[^/\s]+)*\Z", title="the name of a bucket, or BUCKET/PREFIX"),
]
Witness = Annotated[
    str,
    Meta(
        pattern=r"\A[^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=* https?://[^\s,@/]+(/[^\s,]*)?\Z",
        title="a verifier key, a space and an http:// or https:// URL",
    ),
]
IssuerUrl = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps?://[^\s,@?#]+\Z",
        title="an https:// URL without a user, a query and a fragment, as its tokens name it",
    ),
]
GroupRole = Annotated[
    str,
    Meta(
        pattern=r"\A[^=,\n]{1,200}=(user|admin|(user|manager|admin)@[a-z0-9][a-z0-9_-]{0,63})\Z",
        title="GROUP=ROLE@SCOPE, where only managers need a scope, and the group * is everybody",
    ),
]
Dimension = Annotated[int, Meta(ge=1, le=65_536)]
Positive = Annotated[int, Meta(ge=1, le=1 << 30)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Rate = Annotated[float, Meta(gt=0, le=1_000_000)]


def kind(type_: Any) -> type:
    """Return the class of a setting's values: bool, int, float, str, tuple, Path, Secret or a subclass of Secret."""
    while typing.get_origin(type_) in {Annotated, types.UnionType, typing.Union}:
        type_ = typing.get_args(type_)[0]
    origin = typing.get_origin(type_)
    class_: type = str if origin is Literal else origin or type_
    return class_


def convert(raw: object, type_: Any) -> Any:
    """Return `raw` as a value of `type_`. A text is parsed as a number, boolean, path or list.

    A list is comma-separated. A list of tables is JSON.

    Raises msgspec.ValidationError, whose message may repeat the value.
    """
    if isinstance(raw, Path):
        raw = str(raw)
    if not isinstance(raw, str):
        return msgspec.convert(raw, type_, dec_hook=_from_text)
    if kind(type_) is tuple and raw.lstrip().startswith("[{"):
        return msgspec.json.decode(raw, type=type_, dec_hook=_from_text)
    if kind(type_) is tuple:
        return msgspec.convert([part.strip() for part in raw.split(",") if part.strip()], type_)
    return msgspec.convert(raw, type_, strict=False, dec_hook=_from_text)


def _from_text(type_: Any, raw: object) -> object:
    if not isinstance(raw, str):
        raise TypeError(type_)
    return Path(raw).expanduser().absolute() if type_ is Path else type_(raw)


def is_encodable(value: object) -> bool:
    """Return whether every text and path of a value is UTF-8, as responses and logs need. Secrets may be any bytes."""
    if isinstance(value, tuple):
        return all(is_encodable(item) for item in value)
    return not isinstance(value, str | Path) or is_text(str(value))


def expected(type_: Any) -> str:
    """Describe the values of this type, for messages and documentation."""
    return _describe(inspect.type_info(type_))


def _describe(info: inspect.Type) -> str:  # noqa: C901, PLR0911 (one line per type)
    match info:
        case inspect.Metadata(extra_json_schema={"title": str(title)}):
            return title
        case inspect.Metadata(type=inner):
            return _describe(inner)
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case inspect.FloatType(gt=None, ge=low, le=high):
            return f"a number from {low:g} to {high:g}"
        case inspect.FloatType(gt=low, le=high):
            return f"a number above {low:g}, at most {high:g}"
        case inspect.VarTupleType(item_type=item):
            return f"a list, each item {_describe(item)}"
        case inspect.UnionType(types=members):
            return _describe(next(member for member in members if not isinstance(member, inspect.NoneType)))
        case inspect.CustomType(cls=cls):
            return _CUSTOM[cls]
        case _:
            return "text"


_CUSTOM = {
    Path: "a path",
    Secret: "text",
    HeaderList: "headers as NAME=VALUE,NAME=VALUE, with percent-encoded values",
    Url: "a URL",
    HttpUrl: "an http:// or https:// URL",
    ServerUrl: "an http:// or https:// URL without user, query and fragment",
    DatabaseUrl: "sqlite:///FILE or postgresql://USER@HOST/DATABASE",
}
