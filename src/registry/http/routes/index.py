"""The raw index of one skill in both profiles: one line of JSON per version, oldest first."""

import hashlib
from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from registry.http.conditional_requests import not_modified
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.publish.index_lines import catalog_lines, ndjson
from registry.services.container import Services

NDJSON = "application/x-ndjson"


@get("/index/{skill_id:path}", tags=["index"], responses=ERRORS, role="user", media_type=NDJSON)
async def get_index(
    request: Request[Any, Any, Any], services: ReadyServices, skill_id: FromPath[str]
) -> Response[bytes]:
    """Return the index file of a skill: NDJSON, one line per version, oldest first."""
    lines = await ORDINARY_POOL.run(_file, services, skill_id.removeprefix("/"))
    answer = not_modified(request, lines, f'"{hashlib.sha256(lines).hexdigest()[:32]}"')
    answer.media_type = NDJSON
    return answer


def _file(services: Services, skill_id: str) -> bytes:
    if services.is_published(skill_id):
        return services.publishing.index_file(skill_id)
    return ndjson(catalog_lines(services.catalog, skill_id))


INDEX = [get_index]
