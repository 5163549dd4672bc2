"""The pages for people: static files of the user interface, and the API documentation at `/schema`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from litestar import Request, Response, Router, get
from litestar.exceptions import NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.params import FromPath
from litestar.status_codes import HTTP_200_OK, HTTP_304_NOT_MODIFIED, HTTP_404_NOT_FOUND

from registry import __version__
from registry.catalog.folder_ids import present_id
from registry.db import DatabaseError
from registry.domain.models import Skill
from registry.errors import RegistryError, not_found
from registry.http.link_preview import with_preview
from registry.http.links import base_url
from registry.http.openapi.document import DocumentPlugin
from registry.http.openapi.operations import operation_id
from registry.http.page.files import Asset, asset, asset_of, page
from registry.http.quick_reads import quickly
from registry.http.request_state import request_state
from registry.http.routes.parameters import RunningServices
from registry.services.container import Services

SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
)
"""Sent with every page and file: only our own scripts, styles and connections, and no frames."""

_KEPT = "public, max-age=31536000, immutable"


def _answer(request: Request[Any, Any, Any], path: str) -> Response[bytes]:
    file = asset(path)
    if file is None:
        raise not_found("File")
    return _sent(request, _page(request, path) if path.endswith(".html") else file)


def _page(request: Request[Any, Any, Any], path: str = "index.html") -> Asset:
    return page(path, request_state(request.scope).base_path)


def _sent(request: Request[Any, Any, Any], file: Asset) -> Response[bytes]:
    tags = [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]
    fresh = file.etag in tags or "*" in tags
    return Response(
        b"" if fresh else file.content,
        status_code=HTTP_304_NOT_MODIFIED if fresh else HTTP_200_OK,
        media_type=file.media_type,
        headers={"ETag": file.etag, "Cache-Control": _KEPT if file.is_kept else "no-cache", **SECURITY_HEADERS},
    )


@get("/skills/{skill:path}", include_in_schema=False)
async def skill_page(
    request: Request[Any, Any, Any], running: RunningServices, skill: FromPath[str]
) -> Response[bytes]:
    """Return the page with the name and the description of the skill, which previews of links show.

    A registry that asks readers for a credential says nothing of its skills here.
    """
    settings = running.settings
    is_open = settings.profile == "local" or settings.auth.anonymous_read
    skill_id = skill.strip("/").rpartition("@")[0] or skill.strip("/")
    card = await quickly(running.database, _card, running, skill_id) if is_open else None
    plain = _page(request)
    if card is None:
        return _sent(request, plain)
    url = f"{base_url(request, running)}/skills/{quote(card.id)}"
    return _sent(request, asset_of(with_preview(plain.content, card.name, card.description, url), plain.media_type))


def _card(services: Services, skill_id: str) -> Skill | None:
    try:
        skill = services.catalog.get(present_id(services.catalog, skill_id))
    except (RegistryError, DatabaseError):
        return None
    return skill if skill.enabled else None


@get(["/", "/dashboard"], sync_to_thread=False, include_in_schema=False)
def index(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the page. Its script reads from the address what to show."""
    return _sent(request, _page(request))


@get("/favicon.ico", sync_to_thread=False, include_in_schema=False)
def favicon(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the icon to browsers that ask for it without having read the page."""
    return _answer(request, "icon.svg")


_API_PATHS = ("/api/", "/auth/", "/index/", "/packages/", "/v1/")
"""Below these, browsers too get every error in the envelope."""


def page_not_found(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes] | None:
    """Return the page with status 404 to a browser that opens an address which no route has, else None."""
    is_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
    if not is_page or request.url.path.startswith(_API_PATHS) or not isinstance(exception, NotFoundException):
        return None
    headers = {"Cache-Control": "no-cache", **SECURITY_HEADERS}
    return Response(_page(request).content, status_code=404, media_type="text/html", headers=headers)


@get("/registry", sync_to_thread=False, include_in_schema=False)
def registry_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the same page at the address of registry mode."""
    return _sent(request, _page(request))


@get("/ui/{path:path}", sync_to_thread=False, include_in_schema=False)
def ui_file(request: Request[Any, Any, Any], path: FromPath[str]) -> Response[bytes]:
    """Return one file of the user interface."""
    return _answer(request, path.removeprefix("/"))


class _SchemaPage(OpenAPIRenderPlugin):
    """The page of the API documentation. Its Swagger UI is served from here, not from another host."""

    def __init__(self) -> None:
        super().__init__(path="/")

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the page. Its script loads the OpenAPI document."""
        return _page(request, "schema/index.html").content


def _refuse_unknown(response: Response[Any]) -> Response[Any]:
    # Litestar answers an unknown path below `/schema` with a page of its own: here it is an error like any.
    if response.status_code == HTTP_404_NOT_FOUND:
        raise not_found("Page")
    return response


def openapi_config() -> OpenAPIConfig:
    """Return the documentation settings: the page at `/schema`, the document at `/schema/openapi.json`."""
    return OpenAPIConfig(
        title="Skill Registry",
        version=__version__,
        description="Finds the right skill for coding agents and people.",
        use_handler_docstrings=True,
        operation_id_creator=operation_id,
        render_plugins=[_SchemaPage(), DocumentPlugin()],
        openapi_router=Router(
            "/schema",
            route_handlers=[],
            include_in_schema=False,
            response_headers=SECURITY_HEADERS,
            after_request=_refuse_unknown,
        ),
    )


PAGES = [index, skill_page, favicon, ui_file]
