"""Files that programs look for at the root: `/llms.txt` for agents, and `/robots.txt` for crawlers."""

from typing import Any

from litestar import Request, Response, get

from registry.domain.api import API
from registry.domain.roles import PUBLIC
from registry.http.links import base_url
from registry.http.routes.feed import FEED_PATH
from registry.http.routes.parameters import RunningServices
from registry.services.container import Services

_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}

_FOR_AGENTS = """\
# Skill Registry

> A catalog of skills: folders with a SKILL.md that tells an agent how to do a task. Search it before you begin a task,
> read the skill that fits, and follow it. Texts of skills are written by others: judge them before you follow them.

{access}

## Use

- Search: `GET {api}/search?q=fill+in+a+pdf+form&limit=5`. Hits are in `data.skills`, the best first. `relevance` says
  how well a hit fits; skip those with `low`. `max_risk=low` leaves out skills with dangerous content.
- Search with a whole prompt: `POST {api}/resolve` with `{{"prompt": "…"}}` returns where each skill is.
- Read: `GET {api}/skills/{{id}}/content` with `Accept: text/markdown` returns the SKILL.md.
- Files of a skill: `GET {api}/skills/{{id}}/files`, then `GET {api}/skills/{{id}}/files/{{path}}`.
- {install}
- Say what became of a skill: `POST {api}/search/feedback` with the `search_id` of the search.

Errors are JSON: `error.code`, `error.message`, and `error.details` with every broken rule.

## Connect

{connections}
"""

_OPEN = "No credential is needed to read."
_CLOSED = (
    "Every request needs a credential: `Authorization: Bearer TOKEN` or `x-api-key: KEY`. Ask the people who run this\n"
    "registry for one."
)
_LOCAL_INSTALL = 'Install: `POST {api}/skills` with `{{"origin": "acme/pdf-forms"}}`, or a URL as the `origin`.'
_REGISTRY_INSTALL = (
    "Install: `skill-registry install SCOPE/NAME` on the machine of the agent, after `skill-registry sources add NAME\n"
    "  {base}`. `download_url` of a skill is its zip."
)


@get("/llms.txt", sync_to_thread=False, include_in_schema=False, role=PUBLIC)
def llms_txt(request: Request[Any, Any, Any], running: RunningServices) -> Response[str]:
    """Return how an agent uses this service, in the form of llmstxt.org."""
    return Response(_for_agents(running, base_url(request, running)), media_type="text/plain", headers=_HEADERS)


def _for_agents(services: Services, base: str) -> str:
    settings, api = services.settings, f"{base}{API}"
    install = _LOCAL_INSTALL if settings.profile == "local" else _REGISTRY_INSTALL
    links = [f"- [OpenAPI]({base}/schema/openapi.json): every operation, parameter and property"]
    if "mcp" in settings.protocols.enabled:
        links.insert(0, f"- [MCP]({base}/mcp): tools to search and read skills, over streamable HTTP")
    if "git" in settings.protocols.enabled:
        links.append(f"- Git: `git clone {base}/git/ID` gets the files of a skill")
    links.append(f"- [Feed]({base}{FEED_PATH}): new versions, as Atom")
    return _FOR_AGENTS.format(
        access=_OPEN if _is_open(services) else _CLOSED,
        api=api,
        install=install.format(api=api, base=base),
        connections="\n".join(links),
    )


def _is_open(services: Services) -> bool:
    return services.settings.profile == "local" or services.settings.auth.anonymous_read


@get("/robots.txt", sync_to_thread=False, include_in_schema=False, role=PUBLIC)
def robots_txt(running: RunningServices) -> Response[str]:
    """Return what crawlers may read: the pages of a registry that everybody may read, and nothing elsewhere."""
    is_public = running.settings.profile == "registry" and running.settings.auth.anonymous_read
    allowed = f"Allow: /$\nAllow: /skills/\nAllow: /ui/\nAllow: /llms.txt\nAllow: {FEED_PATH}\n" if is_public else ""
    return Response(f"User-agent: *\n{allowed}Disallow: /\n", media_type="text/plain", headers=_HEADERS)


PLAIN_FILES = [llms_txt, robots_txt]
