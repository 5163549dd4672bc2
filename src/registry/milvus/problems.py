"""What a failed call of Milvus means, and what to do."""

import grpc

_MEANINGS = {
    grpc.StatusCode.UNAUTHENTICATED: "Milvus at {uri} refuses the token: set search.milvus_token",
    grpc.StatusCode.PERMISSION_DENIED: (
        "Milvus at {uri} refuses a call: give the user of search.milvus_token all rights to the collections whose "
        "names begin with skills_ ({reason})"
    ),
    grpc.StatusCode.UNIMPLEMENTED: "{uri} is no Milvus, or one of another release: set search.milvus_uri",
    grpc.StatusCode.DEADLINE_EXCEEDED: "Milvus at {uri} did not answer within {seconds:g} s",
    grpc.StatusCode.UNAVAILABLE: "Milvus at {uri} cannot be reached ({reason})",
    grpc.StatusCode.NOT_FOUND: "Milvus at {uri} has no database {database!r}: create it, or set search.milvus_database",
}
"""What is wrong, by the status of gRPC."""

_STATUSES = {
    1400: grpc.StatusCode.UNAUTHENTICATED,
    1401: grpc.StatusCode.PERMISSION_DENIED,
    800: grpc.StatusCode.NOT_FOUND,
}
"""The codes of Milvus that mean the same. Milvus Lite has none for a missing database."""

_MAX_REASON = 200


def problem_of(error: BaseException, uri: str, database: str, seconds: float) -> str:
    """Return one sentence about an error of the library: the library hides most of what the server has said."""
    status, reason = _grpc_error(error)
    if status is None:
        reason = str(getattr(error, "message", error))
        status = _STATUSES.get(getattr(error, "code", 0))
        if reason.startswith("database "):
            status = grpc.StatusCode.NOT_FOUND
    meaning = _MEANINGS.get(status, "Milvus at {uri} failed ({reason})")
    reason = f"{reason.partition(chr(10))[0]:.{_MAX_REASON}}"
    return meaning.format(uri=uri, database=database, seconds=seconds, reason=reason)


def _grpc_error(error: BaseException | None) -> tuple[grpc.StatusCode | None, str]:
    """Return the status and the details of the error of gRPC behind an error. The chain of the library is a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, grpc.RpcError) and isinstance(error, grpc.Call):
            return error.code(), str(error.details())
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None, ""
