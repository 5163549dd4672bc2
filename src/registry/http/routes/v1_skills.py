"""The list of `/v1/skills`, with what the OpenAI and Anthropic SDKs read to page through it."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import QueryParameter

from registry.catalog.listing import CardPage, list_cards
from registry.errors import FieldError, validation_error
from registry.http.conditional_requests import not_modified
from registry.http.envelope import Pagination
from registry.http.routes.code import SkillItem
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices
from registry.http.routes.skills import Enabled

_ID = 'The id of the last skill on the page before: its "last_id"'
After = Annotated[str, QueryParameter(max_length=130, description=_ID)]
PageToken = Annotated[str, QueryParameter(name="page", max_length=130, description='The "next_page" before')]
Order = Annotated[Literal["asc", "desc"], QueryParameter(description="Oldest or newest first")]


class ListedSkill(SkillItem, kw_only=True):
    """A skill in the list of `/v1/skills`. Both SDKs read some of the additional fields."""

    object: Literal["skill"] = "skill"
    type: Literal["skill"] = "skill"
    display_name: str
    default_version: str
    latest_version: str


class SkillList(msgspec.Struct, kw_only=True):
    """A page of the list. `next_page` is the token for `page`, null on the last page."""

    success: Literal[True] = True
    data: list[ListedSkill]
    pagination: Pagination
    object: Literal["list"] = "list"
    has_more: bool
    first_id: str | None
    last_id: str | None
    next_page: str | None


@get("/skills", sync_to_thread=False, tags=["code v1"], responses=ERRORS, role="user")
def list_v1_skills(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    enabled: Enabled = None,
    after: After = "",
    page_token: PageToken = "",
    order: Order = "asc",
) -> Response[SkillList]:
    """List skills in the order of their creation, from an offset or behind a skill."""
    start = after or page_token or None
    if page.offset and (start is not None or order == "desc"):
        raise validation_error(FieldError("offset", "cannot be combined with after, page or order=desc"))
    newest_first = order == "desc"
    found = list_cards(services.database, page.limit, page.offset, enabled, after=start, newest_first=newest_first)
    etag = f'"{services.documents.revision():x}"'
    return not_modified(request, _skill_list(found, page.limit, page.offset), etag)


def _skill_list(found: CardPage, limit: int, offset: int) -> SkillList:
    items = [_listed(msgspec.json.decode(card, type=SkillItem)) for card in found.cards]
    last_id = items[-1].id if items else None
    return SkillList(
        data=items,
        pagination=Pagination(found.total, limit, offset),
        has_more=found.has_more,
        first_id=items[0].id if items else None,
        last_id=last_id,
        next_page=last_id if found.has_more else None,
    )


def _listed(item: SkillItem) -> ListedSkill:
    fields = {name: getattr(item, name) for name in SkillItem.__struct_fields__}
    return ListedSkill(**fields, display_name=item.name, default_version=item.version, latest_version=item.version)
