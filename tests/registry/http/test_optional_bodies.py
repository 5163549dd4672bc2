"""Which bodies may be left out: the OpenAPI document and the service say the same of every route."""

from collections import defaultdict
from typing import Any

from support.routes import Served
from support.site import Site

WITHOUT_BODY = {
    "POST /auth/token",
    "POST /api/reindex",
    "POST /api/reindex/{}",
    "POST /api/manifest/generate-mdc",
    "POST /api/v1/reindex",
    "POST /api/v1/reindex/{}",
    "POST /api/v1/manifest/generate-mdc",
    "POST /api/v1/skills/upgrade",
    *(
        f"POST {base}/registry/skills/{path}"
        for base in ("/api", "/api/v1")
        for path in ("{}/deprecate", "{}/{}/yank", "{}/{}/revoke")
    ),
    "DELETE /clawhub/api/v1/skills/{}",
    "DELETE /clawhub/api/v1/skills/{}/versions/{}",
    "POST /clawhub/api/v1/skills/{}/undelete",
    "POST /clawhub/api/v1/skills/{}/versions/{}/restore",
}
"""Every field of these bodies is optional, and a call without one means something."""


def bodies(site: Site) -> list[tuple[Served, dict[str, Any]]]:
    """Return the routes with a body, and what the OpenAPI document says of it."""
    paths = site.server.http.get("/schema/openapi.json").json()["paths"]
    found = [(route, paths.get(route.path, {}).get(route.method.lower(), {})) for route in site.routes]
    return [(route, operation["requestBody"]) for route, operation in found if "requestBody" in operation]


def test_a_body_is_required_where_a_call_without_it_is_refused(site: Site) -> None:
    answers: dict[tuple[str, bool], set[int]] = defaultdict(set)
    for route, body in bodies(site):
        answers[route.nameless, body["required"]].add(site.ask(route.method, site.path(route)).status_code)
    for (place, required), statuses in answers.items():
        # Of the two paths of an id, with a scope and without, one may name nothing. A slug of ClawHub is not an id,
        # git-upload-pack tells faults in packets, with status 200, APM asks for the type first, and
        # another scope's versions are not ours to yank.
        named = statuses - {404, 403}
        assert (
            named == ({400} if required else {200})
            or "/git/" in place
            or ("/apm/" in place and named == {415})
            or (not named and ("/clawhub/" in place or place in WITHOUT_BODY))
        ), place


def test_the_bodies_that_may_be_left_out_are_these(site: Site) -> None:
    listed = bodies(site)
    optional = {route.nameless for route, body in listed if not body["required"]}
    assert optional == WITHOUT_BODY & {route.nameless for route, _ in listed}
    assert len(listed) > 10
