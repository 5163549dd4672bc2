"""The specification's endpoint tables against what is served: all of it, with its role, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.routes import REGISTRY_MODE, Served, application, nameless, served_by

EIGHT_OPERATIONS = """
GET     {prefix}/skills                             user
GET     {prefix}/skills/:skill_id                   user
POST    {prefix}/skills                             manager
DELETE  {prefix}/skills/:skill_id                   manager
POST    {prefix}/skills/:skill_id/versions          manager
GET     {prefix}/skills/:skill_id/versions          user
GET     {prefix}/skills/:skill_id/versions/:version user
DELETE  {prefix}/skills/:skill_id/versions/:version manager
"""

V1_OPERATIONS = EIGHT_OPERATIONS.replace("{prefix}", "/v1")

REGISTRY_PROFILE = f"""
POST    /auth/token                                 public
GET     /auth/verify                                public
{EIGHT_OPERATIONS.replace("{prefix}", "/api/code/v1")}
PUT     /api/code/v1/skills/:skill_id               manager
{V1_OPERATIONS}
GET     /                                           public
GET     /api/status                                 public
GET     /api/skills                                 user
GET     /api/skills/:id                             user
POST    /api/skills                                 manager
PUT     /api/skills/:id                             manager
DELETE  /api/skills/:id                             manager
POST    /api/search                                 user
POST    /api/reindex                                manager
POST    /api/reindex/:id                            manager
GET     /api/registry/sources                       user
GET     /api/registry/skills                        user
GET     /api/registry/sources/:name/skills          user
GET     /api/registry/sources/:name/marketplace     user
POST    /api/registry/refresh                       manager
POST    /api/registry/publish                       manager
GET     /api/registry/publish/:job_id/status        user
GET     /api/manifest/skills                        user
POST    /api/manifest/skills                        manager
PUT     /api/manifest/skills/:id                    manager
DELETE  /api/manifest/skills/:id                    manager
POST    /api/manifest/generate-mdc                  manager
GET     /registry                                   public
GET     /dashboard                                  public
"""

LOCAL_PROFILE = """
GET     /api/v1/status                              public
GET     /api/v1/project                             user
GET     /api/v1/skills                              user
POST    /api/v1/skills                              manager
GET     /api/v1/skills/{id}                         user
PUT     /api/v1/skills/{id}                         manager
DELETE  /api/v1/skills/{id}                         manager
POST    /api/v1/skills/upgrade                      manager
POST    /api/v1/search                              user
POST    /api/v1/reindex                             manager
POST    /api/v1/reindex/{id}                        manager
GET     /api/v1/registry/sources                    user
GET     /api/v1/registry/skills                     user
GET     /api/v1/registry/sources/{name}/skills      user
GET     /api/v1/manifest/skills                     user
POST    /api/v1/manifest/skills                     manager
GET     /index/{*skill_id}                          user
GET     /healthz                                    public
GET     /readyz                                     public
"""

IN_REGISTRY_MODE = (
    "GET /api/registry/sources",
    "GET /api/registry/skills",
    "GET /api/registry/sources/{}/skills",
    "GET /api/registry/sources/{}/marketplace",
    "POST /api/registry/refresh",
    "POST /api/registry/publish",
    "GET /api/registry/publish/{}/status",
    "GET /api/manifest/skills",
    "POST /api/manifest/skills",
    "PUT /api/manifest/skills/{}",
    "DELETE /api/manifest/skills/{}",
    "POST /api/manifest/generate-mdc",
    "GET /registry",
    "GET /api/v1/project",
    "GET /api/v1/manifest/skills",
    "POST /api/v1/manifest/skills",
)

LATER = {
    "local": (),
    "registry": IN_REGISTRY_MODE,
    REGISTRY_MODE: (),
}
"""Rows of the tables that a profile does not serve yet: what it serves must not stand here."""

BEYOND_BOTH = """
GET     /api/v1/badges/{id}                         user
GET     /api/v1/skills/{id}/content                 user
GET     /api/v1/skills/{id}/dependents              user
GET     /api/v1/overview                            user
GET     /api/v1/bin                                 manager
POST    /api/v1/skills/{id}/restore                 manager
GET     /api/v1/skills/{id}/usage                   user
GET     /api/v1/skills/{id}/view                    user
GET     /api/v1/skills/{id}/files                   user
GET     /api/v1/skills/{id}/files/{path}            user
GET     /api/v1/skills/{id}/versions                user
GET     /api/v1/skills/{id}/versions/{version}      user
GET     /api/v1/skills/{id}/versions/{version}/files         user
GET     /api/v1/skills/{id}/versions/{version}/files/{path}  user
GET     /api/v1/skills/{id}/versions/{version}/findings      user
GET     /api/v1/search                              user
POST    /api/v1/search/feedback                      user
GET     /api/v1/search/feedback                      manager
DELETE  /api/v1/search/feedback                      manager
DELETE  /api/v1/search/feedback/own                  user
POST    /api/v1/resolve                             user
GET     /api/v1/reindex/{job_id}                    manager
POST    /api/v1/skills:batch                        manager
GET     /api/v1/installs/{job_id}                   manager
DELETE  /api/v1/installs/{job_id}                   manager
GET     /api/v1/registry/sources/{name}/marketplace user
POST    /api/v1/registry/refresh                    manager
POST    /api/v1/registry/sources                    admin
DELETE  /api/v1/registry/sources/{name}             admin
GET     /ui/{path}                                  public
GET     /schema                                     public
GET     /skills/{path}                              public
GET     /favicon.ico                                public
GET     /llms.txt                                   public
GET     /robots.txt                                 public
GET     /feed.atom                                  user
GET     /mirrors/{name}/.well-known/skill-registry.json  public
GET     /mirrors/{name}/index/{*skill_id}           user
GET     /mirrors/{name}/packages/{id}/{file}        user
GET     /mirrors/{name}/api/v1/log/checkpoint       user
GET     /mirrors/{name}/api/v1/log/key              user
GET     /mirrors/{name}/api/v1/log/entries          user
GET     /mirrors/{name}/api/v1/log/inclusion        user
GET     /mirrors/{name}/api/v1/log/consistency      user
GET     /mirrors/{name}/api/v1/log/proof/{id}/{version}  user
GET     /mirrors/{name}/api/v1/registry/advisories  user
GET     /schema/openapi.json                        public
GET     /schema/{path}                              public
"""
"""What the specification leaves open, served by both profiles."""

BEYOND_LOCAL = """
PUT     /api/v1/manifest/skills/{id}                manager
DELETE  /api/v1/manifest/skills/{id}                manager
POST    /api/v1/manifest/generate-mdc               manager
"""

FOR_CLIENTS = """
GET     /.well-known/clawhub.json                   public
GET     /clawhub/api/v1/search                      user
GET     /clawhub/api/v1/trending                    user
GET     /clawhub/api/v1/skills                      user
POST    /clawhub/api/v1/skills                      manager
GET     /clawhub/api/v1/skills/{slug}               user
DELETE  /clawhub/api/v1/skills/{slug}               manager
POST    /clawhub/api/v1/skills/{slug}/undelete      manager
GET     /clawhub/api/v1/skills/{slug}/moderation    user
GET     /clawhub/api/v1/skills/{slug}/versions      user
GET     /clawhub/api/v1/skills/{slug}/versions/{version}  user
DELETE  /clawhub/api/v1/skills/{slug}/versions/{version}  manager
POST    /clawhub/api/v1/skills/{slug}/versions/{version}/restore  manager
GET     /clawhub/api/v1/skills/{slug}/file          user
GET     /clawhub/api/v1/skills/{slug}/install       user
GET     /clawhub/api/v1/skills/{slug}/verify        user
POST    /clawhub/api/v1/skills/-/security-verdicts  user
POST    /clawhub/api/v1/skills/-/upload-url         manager
POST    /clawhub/api/v1/uploads/{ticket}            manager
GET     /clawhub/api/v1/download                    user
GET     /clawhub/api/v1/resolve                     user
GET     /clawhub/api/v1/whoami                      user
POST    /clawhub/api/cli/telemetry/install          user
GET     /apm/v1/packages/:id/versions               user
GET     /apm/v1/packages/:id/versions/:version/download user
PUT     /apm/v1/packages/:id/versions/:version     manager
GET     /apm/v1/search                              user
POST    /ard/search                                 user
GET     /ard/agents                                 user
GET     /.well-known/ai-catalog.json                public
GET     /git/{id}/info/refs                         user
GET     /git/{id}/{version}/info/refs               user
POST    /git/{id}/git-upload-pack                   user
POST    /git/{id}/{version}/git-upload-pack         user
POST    /git/{id}/git-receive-pack                  user
POST    /git/{id}/{version}/git-receive-pack        user
POST    /mcp                                        user
GET     /tree/index.json                            user
GET     /tree/{path}                                user
GET     /s/{id}/.well-known/agent-skills/index.json user
GET     /s/{id}/.well-known/agent-skills/{path}     user
GET     /s/{id}/.well-known/skills/index.json       user
GET     /s/{id}/.well-known/skills/{path}           user
GET     /.well-known/agent-skills/index.json        user
GET     /.well-known/agent-skills/{path}            user
GET     /.well-known/skills/index.json              user
GET     /.well-known/skills/{path}                  user
GET     /find/api/search                            user
"""
"""The protocols of other clients, in both profiles."""

FOR_SDKS = """
GET     /v1/skills/{id}/content                     user
GET     /v1/skills/{id}/versions/{version}/content  user
"""
"""What the SDKs need besides the eight operations at `/v1`, in both profiles."""

REDIRECTS = "\n".join(
    f"{method} {path} public"
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    for path in ("/api", "/api/{rest}")
)
"""The redirects of the unversioned prefix (rule 1 of *Versioning*)."""

BEYOND_REGISTRY = """
POST    /auth/logout                                user
POST    /api/search/feedback                         user
GET     /api/search/feedback                         manager
DELETE  /api/search/feedback                         manager
DELETE  /api/search/feedback/own                     user
GET     /api/reindex/{job_id}                       manager
POST    /api/v1/skills/{id}/versions                manager
DELETE  /api/v1/skills/{id}/versions/{version}      manager
GET     /api/v1/auth/keys                           admin
POST    /api/v1/auth/keys                           admin
GET     /auth/oidc/audience                         public
POST    /auth/oidc/token                            public
GET     /auth/sign-in                               public
GET     /auth/sign-in/callback                      public
POST    /auth/sign-in/token                         public
POST    /auth/sign-in/device                        public
POST    /auth/sign-in/device/token                  public
GET     /api/v1/auth/publishers                     admin
POST    /api/v1/auth/publishers                     admin
DELETE  /api/v1/auth/publishers/{publisher_id}      admin
GET     /api/v1/auth/trusted-scopes                 admin
PUT     /api/v1/auth/trusted-scopes/{scope_name}    admin
GET     /api/v1/private-scopes                      user
POST    /api/v1/private-scopes                      admin
DELETE  /api/v1/private-scopes/{scope_name}         admin
GET     /api/v1/private-scopes/{scope_name}/members user
PUT     /api/v1/private-scopes/{scope_name}/members/{id} user
DELETE  /api/v1/private-scopes/{scope_name}/members/{id} user
GET     /api/v1/auth/tokens                         user
POST    /api/v1/auth/tokens                         user
DELETE  /api/v1/auth/tokens/{token_id}              user
PUT     /api/v1/auth/me/password                    user
DELETE  /api/v1/auth/keys/{key_id}                  admin
GET     /api/v1/auth/users                          admin
POST    /api/v1/auth/users                          admin
PUT     /api/v1/auth/users/{id}                     admin
DELETE  /api/v1/auth/users/{id}                     admin
GET     /api/v1/audit                               admin
GET     /api/v1/audit/export                        admin
GET     /api/v1/log/checkpoint                      user
GET     /api/v1/log/key                             user
GET     /api/v1/log/entries                         user
GET     /api/v1/log/inclusion                       user
GET     /api/v1/log/consistency                     user
GET     /api/v1/log/proof/{id}/{version}            user
GET     /metrics                                    manager
"""

BEYOND_REGISTRY_MODE = """
POST    /api/registry/sources                       admin
DELETE  /api/registry/sources/{name}                admin
GET     /api/registry/publish                       user
POST    /api/registry/publish/check                 manager
POST    /api/registry/publish/{job_id}/retry        admin
GET     /api/registry/publish/status/{job_id}       user
GET     /api/registry/index/skills                  user
GET     /api/registry/index/changes                 user
POST    /api/registry/skills/{id}/{version}/yank    manager
POST    /api/registry/skills/{id}/{version}/unyank  manager
POST    /api/registry/skills/{id}/{version}/revoke  admin
POST    /api/registry/skills/{id}/deprecate         manager
POST    /api/registry/skills/{id}/undeprecate       manager
POST    /api/v1/registry/publish                    manager
GET     /api/v1/registry/publish                    user
POST    /api/v1/registry/publish/check              manager
POST    /api/v1/registry/publish/{job_id}/retry     admin
GET     /api/v1/registry/reviews                    manager
GET     /api/v1/registry/reviews/{job_id}           manager
GET     /api/v1/registry/reviews/{job_id}/files/{path} manager
POST    /api/v1/registry/reviews/{job_id}/approve   manager
POST    /api/v1/registry/reviews/{job_id}/reject    manager
POST    /api/v1/registry/skills/{id}/{version}/waivers  admin
DELETE  /api/v1/registry/skills/{id}/{version}/waivers  admin
GET     /api/v1/registry/publish/{job_id}/status    user
GET     /api/v1/registry/publish/status/{job_id}    user
GET     /api/v1/registry/index/skills               user
GET     /api/v1/registry/index/changes              user
POST    /api/v1/registry/skills/{id}/{version}/yank     manager
POST    /api/v1/registry/skills/{id}/{version}/unyank   manager
POST    /api/v1/registry/skills/{id}/{version}/revoke   admin
GET     /api/v1/registry/advisories                 user
GET     /api/v1/registry/advisories/osv             user
POST    /api/v1/registry/skills/{id}/deprecate          manager
POST    /api/v1/registry/skills/{id}/undeprecate        manager
GET     /packages/{id}/{file}                       user
GET     /.well-known/skill-registry.json            public
"""


def rows(*tables: str) -> dict[str, str]:
    """Return the least role of every operation of these tables."""
    lines = (line.split() for table in tables for line in table.strip().splitlines() if line)
    return {f"{method} {nameless(path)}": role for method, path, role in lines}


@pytest.fixture(scope="module", params=["local", "registry", REGISTRY_MODE])
def profile(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[Served]]]:
    folder: Path = tmp_path_factory.mktemp("routes")
    with application(folder, request.param) as app:
        yield request.param, served_by(app)


def tables_of(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return what the specification has for a profile, and what we serve beyond it."""
    pages = "GET / public\nGET /dashboard public"  # the specification names them as the web UI's, in neither table of B
    if name == "local":
        return rows(LOCAL_PROFILE), rows(
            BEYOND_BOTH, BEYOND_LOCAL, FOR_SDKS, FOR_CLIENTS, V1_OPERATIONS, REDIRECTS, pages
        )
    if name == REGISTRY_MODE:
        more = rows(BEYOND_BOTH, BEYOND_LOCAL, FOR_SDKS, FOR_CLIENTS, BEYOND_REGISTRY, BEYOND_REGISTRY_MODE)
        return rows(REGISTRY_PROFILE, LOCAL_PROFILE), more
    return rows(REGISTRY_PROFILE, LOCAL_PROFILE), rows(BEYOND_BOTH, FOR_SDKS, FOR_CLIENTS, BEYOND_REGISTRY)


def test_what_the_specification_lists_is_served_or_named_as_still_to_come(profile: tuple[str, list[Served]]) -> None:
    name, served = profile
    specified, _ = tables_of(name)
    missing = specified.keys() - {one.nameless for one in served}
    assert missing == specified.keys() & set(LATER[name])


def test_nothing_is_served_that_no_document_names(profile: tuple[str, list[Served]]) -> None:
    name, served = profile
    specified, beyond = tables_of(name)
    assert {one.nameless for one in served} <= specified.keys() | beyond.keys()
    assert beyond.keys() <= {one.nameless for one in served}


def test_every_route_has_the_role_the_tables_give_it(profile: tuple[str, list[Served]]) -> None:
    name, served = profile
    specified, beyond = tables_of(name)
    roles = specified | beyond
    if name != "local":
        open_to_all = {one.nameless for one in served if not one.guarded or one.role == "public"}
        assert open_to_all == {operation for operation, role in roles.items() if role == "public"} - set(LATER[name])
        assert {one.nameless: one.role for one in served if one.guarded}.items() <= roles.items()
    else:
        assert not any(one.guarded for one in served)
        assert {one.nameless: one.role for one in served if one.role}.items() <= roles.items()


def test_what_is_still_to_come_is_in_a_table() -> None:
    for name, later in LATER.items():
        assert set(later) <= tables_of(name)[0].keys()
