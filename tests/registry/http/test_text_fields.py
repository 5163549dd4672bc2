"""Every field of every route takes the dearest kinds of text up to its limit: an answer of the service, never a 5xx."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from support.costly_texts import BODIES, TEXTS
from support.publishing import Registry
from support.route_fields import HEADERS, Field, fields_of, in_headers
from support.routes import REGISTRY_MODE, application, served_by
from support.servers import RunningServer, bearer

LENGTHS = {"path": 2_400, "query": 2_400, "header": 3_000, "body": 60_000}
"""Characters, each of which a URL may write as three bytes."""
TEXTS_OF_A_FIELD = 2
"""Each field gets so many texts, others than the field before: all fields and all texts, in seconds."""


class Served(NamedTuple):
    """A server, its fields, and the headers of a caller who may use them."""

    server: RunningServer
    fields: list[Field]
    headers: dict[str, bytes]


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("fields")
    with application(folder / "app", request.param) as app:
        fields = [one for one in fields_of(app) if one.path != "/auth/logout"]  # it would end the token of the test
        assert {(one.method, one.path) for one in served_by(app)} >= {(one.method, one.path) for one in fields}
    fields += [*in_headers("GET", "/api/v1/skills"), *in_headers("POST", "/api/v1/search")]
    if request.param == REGISTRY_MODE:
        with Registry(folder, "--limits-token-failures", "1000000") as registry:
            token = bearer(registry.token("admin"))
            yield Served(registry, fields, {name: value.encode() for name, value in token.items()})
    else:
        with RunningServer(folder) as server:
            yield Served(server, fields, {})


def test_the_fields_are_those_of_the_application(served: Served) -> None:
    titles = {one.title for one in served.fields}
    ends = (
        "/search body query",
        "/search body filters.tags[]",
        "/search query q",
        "/skills query limit",
        "POST /mcp body ",
    )
    assert [end for end in ends if not any(title.endswith(end) for title in titles)] == []
    assert {one.name for one in served.fields if one.place == "header"} == set(HEADERS)
    assert len(titles) > 150


def test_no_text_in_any_field_is_a_server_error(served: Served) -> None:
    failed = []
    for number, field in enumerate(served.fields):
        texts = BODIES if (field.place, field.name) == ("body", "") else TEXTS
        step = len(texts) // TEXTS_OF_A_FIELD
        for name in sorted(texts)[number % step :: step]:
            for length in {LENGTHS[field.place], min(field.longest or 100, LENGTHS[field.place])}:
                status = answered(served, field, texts[name](length))
                if not 200 <= status < 500 and status not in (501, 503):
                    failed.append((field.title, name, length, status))
    assert failed == []


def answered(served: Served, field: Field, text: str) -> int:
    sent = field.request(text)
    url = served.server.http.base_url.copy_with(raw_path=sent.target.encode())
    headers = {name.encode(): value for name, value in {**served.headers, **sent.headers}.items()}
    try:
        request = served.server.http.build_request(sent.method, url, headers=headers, content=sent.body)
        return served.server.http.send(request).status_code
    except httpx.RemoteProtocolError:
        return 0
