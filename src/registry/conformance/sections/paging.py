"""Lists and their pages."""

from collections.abc import Iterator

from registry.conformance.answer import expect
from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import CARD, LIST_ITEM

PAGING = Section("Limits: lists and pages")
_NOT_NUMBERS = (
    "",
    "x",
    "-1",
    "1.0",
    "1e3",
    "1_000",
    "%2B1",
    "%D9%A3",
    "%225%22",
    "true",
    str(2**63),
    str(2**70),
    "9" * 5000,
)


@PAGING.row("`limit` and `offset` are accepted, and `pagination` says what was used", profile="registry", role="user")
def _used(service: Service) -> None:
    for prefix in ("/api/code/v1", "/v1"):
        _, pagination = (
            service.ask("GET", f"{prefix}/skills?limit=3&offset=1").page() if prefix != "/v1" else ([], None)
        )
        service.ask("GET", f"{prefix}/skills?limit=3&offset=1").has_status(200)
        if pagination:
            expect(pagination["limit"] == 3 and pagination["offset"] == 1, "limit 3 and offset 1", pagination)


@PAGING.row("`enabled` filters a list", role="user")
def _enabled(service: Service) -> None:
    for path in _lists(service):
        for value in (True, False):
            answer = service.ask("GET", f"{path}?enabled={str(value).lower()}&limit=100")
            items, _ = answer.page()
            answer.expect(
                all(skill["enabled"] is value for skill in items), f"only skills with enabled {value}", items[:1]
            )


@PAGING.row("a page has 20 items by default and 100 at most; more counts as 100", role="user", decided=True)
def _sizes(service: Service) -> None:
    for path in _lists(service):
        for query, used in (("", 20), ("?limit=1", 1), ("?limit=100", 100), ("?limit=101", 100), ("?limit=9999", 100)):
            answer = service.ask("GET", f"{path}{query}")
            items, pagination = answer.page()
            answer.expect(pagination["limit"] == used, f"pagination.limit {used}", pagination)
            answer.expect(len(items) <= used, f"at most {used} items", len(items))


@PAGING.row("`limit` and `offset` are plain decimal integers, from 1 and from 0", role="user", decided=True)
def _refused(service: Service) -> None:
    for path in _lists(service):
        for name, values in (("limit", ("0", *_NOT_NUMBERS)), ("offset", _NOT_NUMBERS)):
            for value in values:
                service.ask("GET", f"{path}?{name}={value}").faults()


@PAGING.row("an offset behind the end is an empty page with the right total", role="user", decided=True)
def _behind(service: Service) -> None:
    for path in _lists(service):
        _, first = service.ask("GET", f"{path}?limit=1").page()
        items, last = service.ask("GET", f"{path}?limit=1&offset=1000000000").page()
        expect(items == [] and last["total"] == first["total"], f"no items, total {first['total']}", [items, last])


@PAGING.row("a repeated parameter is refused, or one of its values counts", role="user", decided=True)
def _repeated(service: Service) -> None:
    answer = service.get("/skills?limit=1&limit=2").survives()
    if answer.status == 200:
        answer.expect(answer.page()[1]["limit"] in (1, 2), "limit 1 or 2", answer.response.text)


@PAGING.row("pages neither repeat nor miss a skill", role="user", decided=True)
def _complete(service: Service) -> None:
    service.sample()
    for path in _lists(service):
        whole, pagination = service.ask("GET", f"{path}?limit=4").page()
        single = [
            skill["id"]
            for n in range(len(whole))
            for skill in service.ask("GET", f"{path}?limit=1&offset={n}").page()[0]
        ]
        expect(single == [skill["id"] for skill in whole], f"the same skills one by one of GET {path}", single)
        expect(pagination["total"] >= len(whole), f"a total of at least {len(whole)}", pagination)


@PAGING.row("an item of the code v1 list has exactly the eight fields", profile="registry", role="user")
def _eight_fields(service: Service) -> None:
    service.sample()
    answer = service.ask("GET", "/api/code/v1/skills")
    for item in answer.page()[0]:
        answer.fields(item, LIST_ITEM, "data[]", exactly=True)


@PAGING.row(
    "an item of other lists is a card: the eight fields, labels, source, licence and findings",
    role="user",
    decided=True,
)
def _cards(service: Service) -> None:
    service.sample()
    answer = service.get("/skills")
    for item in answer.page()[0]:
        answer.fields(item, CARD, "data[]")


def _lists(service: Service) -> Iterator[str]:
    yield f"{service.api}/skills"
    if service.profile == "registry":
        yield "/api/code/v1/skills"
