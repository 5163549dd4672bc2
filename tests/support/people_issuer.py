"""The provider at which people sign in: oidc-provider-mock on loopback, with its people."""

import subprocess
import sys
from typing import Any, Self

import httpx
from playwright.sync_api import Page

from support.ports import free_port
from support.waiting import wait_until

ANN = "0a1b2c"
"""The id of a person at the provider."""


class PeopleIssuer:
    """`url` names the issuer. It accepts every client, and any person who is asked for by id."""

    def __init__(self) -> None:
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which a registry signs people in here."""
        return {
            "SKILL_REGISTRY_AUTH_OIDC_ISSUER": self.url,
            "SKILL_REGISTRY_AUTH_OIDC_CLIENT_ID": "skills",
            "SKILL_REGISTRY_AUTH_OIDC_CLIENT_SECRET": "a secret of this client",
            "SKILL_REGISTRY_AUTH_OIDC_GROUPS": "acme-team=manager@acme,staff=user",
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": f"127.0.0.1:{self.port}",
        }

    def put(self, subject: str, **claims: Any) -> None:
        """Set the claims of a person."""
        httpx.put(f"{self.url}/users/{subject}", json=claims).raise_for_status()

    def start(self) -> None:
        """Start, in a process of its own: it uses what its libraries warn of."""
        command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/jwks").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


Browser = httpx.Client
"""What keeps cookies and follows no redirect by itself."""


def enter(location: str, subject: str | None) -> str:
    """Return where the provider sends a browser whose person signs in, or says no."""
    form = {"action": "deny"} if subject is None else {"sub": subject}
    answer = httpx.post(location, data=form)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def enter_in(page: Page, subject: str) -> None:
    """Enter the id of a person at the provider, which sends the browser back."""
    page.locator("input[name=sub]").fill(subject)
    page.get_by_role("button", name="Authorize").click()
