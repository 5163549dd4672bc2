"""Validates query strings strictly: `Litestar(before_request=StrictQueryParams())`.

A handler or one of its dependencies declares its parameters with `QueryParameter`, so that OpenAPI shows them and
Litestar passes them. But Litestar accepts `1e3` for 1000, `yes` for true and the last of repeated keys. So this module
first checks the raw query against the declarations. Parameters that are not declared are ignored, and the response says
so.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl, quote

from litestar import Request
from litestar.handlers.base import BaseRouteHandler
from litestar.params import ParameterKwarg, QueryParameter
from litestar.typing import FieldDefinition
from msgspec import Meta

from registry.domain.validation import find_errors
from registry.errors import FieldError, validation_error
from registry.http.request_state import request_state
from registry.parsing.strict_json import MAX_INTEGER

DEFAULT_LIMIT = 20
MAX_LIMIT = 100

_T = TypeVar("_T")

_DIGITS = re.compile(r"0|[1-9][0-9]{0,15}")
_DECIMAL = re.compile(r"[0-9]{1,16}(\.[0-9]{1,16})?")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BOOLEANS: Mapping[str, bool] = {"true": True, "false": False}
_BOUNDS = ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")

Limit = Annotated[
    int,
    QueryParameter(ge=1, le=MAX_INTEGER, description=f"How many to answer; above {MAX_LIMIT} counts as {MAX_LIMIT}"),
]
Offset = Annotated[int, QueryParameter(ge=0, le=MAX_INTEGER, description="How many to leave out first")]


class Page(NamedTuple):
    """The requested part of a list."""

    limit: int
    offset: int


def page(limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> Page:
    """Return the requested part of a list, as a dependency; at most `MAX_LIMIT` items."""
    return Page(min(limit, MAX_LIMIT), offset)


IGNORED = b"x-ignored-query"
"""The response header with the names of the parameters that the operation does not have, percent-encoded."""

_MOST_IGNORED = 10
_LONGEST_NAME = 50


class _Declared(NamedTuple):
    kind: Any
    """The parameter's type with its rules."""
    base: type | None
    """Converts the text of a number or a boolean."""
    required: bool
    repeats: bool
    """Whether a query may have the parameter several times: its value is a list."""


class StrictQueryParams:
    """Refuses a query string that breaks a declaration, before the handler is called, with all faults at once.

    What an operation of the API does not declare is named in the header `X-Ignored-Query` and in the request's state.
    """

    def __init__(self) -> None:
        self._declared: dict[tuple[str, str], dict[str, _Declared]] = {}

    async def __call__(self, request: Request[Any, Any, Any]) -> None:
        """Raise VALIDATION_ERROR with every fault of the query."""
        route = (request.method, request.scope["path_template"])
        declared = self._declared.get(route)
        if declared is None:
            declared = self._declared[route] = _declarations(request.route_handler)
        if declared or request.scope["query_string"]:
            pairs = _pairs(request.scope["query_string"])
            _checked(pairs, declared)
            if any(name not in declared for name, _ in pairs) and request.route_handler.resolve_include_in_schema():
                _report_ignored(request.scope, [name for name, _ in pairs if name not in declared])


class QueryRules:
    """What a registered handler declares of its query string, for callers that read one without the framework.

    `names` are those of its parameters.
    """

    def __init__(self, handler: BaseRouteHandler) -> None:
        self._declared = _declarations(handler)
        self.names = frozenset(self._declared)

    def read(self, query: bytes) -> dict[str, Any] | None:
        """Return the values of the parameters, None if there are others than the declared. Raises VALIDATION_ERROR."""
        pairs = _pairs(query)
        if any(name not in self._declared for name, _ in pairs):
            return None
        return _checked(pairs, self._declared)


def _report_ignored(scope: Any, names: Sequence[str]) -> None:
    state = request_state(scope)
    state.ignored_query = [quote(name[:_LONGEST_NAME], safe="") for name in names[:_MOST_IGNORED]]
    state.response_headers = [*state.response_headers, (IGNORED, ", ".join(state.ignored_query).encode("ascii"))]


def _checked(pairs: Sequence[tuple[str, str]], declared: Mapping[str, _Declared]) -> dict[str, Any]:
    counts = Counter(key for key, _ in pairs)
    repeated = {name for name, rule in declared.items() if rule.repeats}
    faults = [
        FieldError(key[:100], "is there more than once")
        for key, count in counts.items()
        if count > 1 and key not in repeated
    ]
    faults.extend(
        FieldError(name, "is required") for name, rule in declared.items() if rule.required and not counts[name]
    )
    values = {name: _value(text, declared[name]) for name, text in pairs if name in declared and counts[name] == 1}
    values |= {name: [text for key, text in pairs if key == name] for name in repeated & counts.keys()}
    for name, value in values.items():
        faults.extend(_value_faults(name, value, declared[name]))
    if faults:
        raise validation_error(*faults)
    return values


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except UnicodeDecodeError:
        raise validation_error(FieldError("query", "is not percent-encoded UTF-8")) from None
    except ValueError:
        raise validation_error(FieldError("query", "has more than 100 parameters")) from None


def _value(text: str, declared: _Declared) -> Any:
    """Return the value of a text, None for one that is not of the declared kind."""
    if declared.base is bool:
        return _BOOLEANS.get(text)
    if declared.base is int:
        return int(text) if _DIGITS.fullmatch(text) else None
    if declared.base is float:
        return float(text) if _DECIMAL.fullmatch(text) else None
    return text


def _value_faults(name: str, value: Any, declared: _Declared) -> Iterator[FieldError]:
    if value is None:
        yield FieldError(name, _MUST_BE[declared.base])
    elif any(_FORBIDDEN.search(text) for text in (value if isinstance(value, list) else [str(value)])):
        yield FieldError(name, "must not have control characters")
    else:
        yield from find_errors(value, declared.kind, name)


_MUST_BE: Mapping[type | None, str] = {
    bool: "must be true or false",
    int: f"must be a whole number in plain digits, at most {MAX_INTEGER}",
    float: "must be a number in plain digits, such as 0.5",
}


def _declarations(handler: BaseRouteHandler) -> dict[str, _Declared]:
    signatures = [handler.parsed_fn_signature]
    signatures.extend(provide.parsed_fn_signature for provide in _used_dependencies(handler))
    return {
        field.kwarg_definition.name or name: _declared(field, field.kwarg_definition)
        for signature in signatures
        for name, field in signature.parameters.items()
        if isinstance(field.kwarg_definition, QueryParameter)
    }


def _used_dependencies(handler: BaseRouteHandler) -> Iterator[Any]:
    dependencies, names = handler.resolve_dependencies(), list(handler.parsed_fn_signature.parameters)
    while names:
        if (provide := dependencies.get(names.pop())) is not None:
            yield provide
            names.extend(provide.parsed_fn_signature.parameters)


def _declared(field: FieldDefinition, rules: ParameterKwarg) -> _Declared:
    bounds = {name: value for name in _BOUNDS if (value := getattr(rules, name)) is not None}
    notes = [note for note in field.metadata if isinstance(note, Meta)]
    kind = field.annotation
    for note in [*notes, *([Meta(**bounds)] if bounds else [])]:
        kind = Annotated[kind, note]
    base = next((part for part in (field.annotation, *get_args(field.annotation)) if part in _MUST_BE), None)
    return _Declared(kind, base, field.is_required and not field.is_optional, field.is_non_string_sequence)


class Parameter(NamedTuple):
    """A parameter of a query string that is declared elsewhere: its name there, its type, default and meaning."""

    name: str
    kind: Any
    default: Any
    description: str


def dependency(parameters: Sequence[Parameter], make: Callable[[Mapping[str, Any]], _T]) -> Callable[..., _T]:
    """Return a dependency that reads parameters and returns what `make` makes of those that are not the default.

    So that one declaration serves query strings, bodies and commands.
    """
    names = {f"by_{parameter.name.replace('.', '_')}": parameter for parameter in parameters}

    def read(**values: Any) -> _T:
        arguments = {names[name].name: value for name, value in values.items() if value != names[name].default}
        return make(arguments)

    kinds = {name: _annotated(parameter) for name, parameter in names.items()}
    return_type = inspect.signature(make).return_annotation
    read.__annotations__ = {**kinds, "return": return_type}
    read.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what `inspect` reads
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=names[name].default, annotation=kind)
            for name, kind in kinds.items()
        ],
        return_annotation=return_type,
    )
    return read


def _annotated(parameter: Parameter) -> Any:
    """Return the type of a parameter as Litestar takes it: it cannot copy rules that are notes of msgspec."""
    kind, *notes = get_args(parameter.kind) if get_origin(parameter.kind) is Annotated else (parameter.kind,)
    bounds = {name: value for note in notes for name in _BOUNDS if (value := getattr(note, name)) is not None}
    return Annotated[kind, QueryParameter(name=parameter.name, description=parameter.description, **bounds)]
