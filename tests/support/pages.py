"""Servers with something to look at, and browser pages that write down what they complain of."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, ViewportSize

from support.servers import RunningServer, write_skill
from support.waiting import PATIENCE_SECONDS

EXAMPLES = Path(__file__).parents[2] / "examples" / "skills"
AXE = Path(__file__).parents[1] / "ui" / "axe-core-4.14.1" / "axe.min.js"
OTHER_HOST = "evil.example"

HIDDEN = "safe\u202egpj.exe zero\u200bwidth tag\U000e0041end"

HOSTILE = {
    "script": "<script>alert(1)</script> is a text",
    "image": '"><img src=x onerror=alert(1)> is a text',
    "template": "{{7*7}} and ${7*7} are texts",
    "title": "</title></p><h1>is a text</h1>",
    "hidden": HIDDEN,
}
"""Descriptions of an attacker, by the name of their skill: `hostile-…`."""

BODY = """# Steps <img src="https://evil.example/pixel.png" onerror="alert(1)">

![remote](https://evil.example/picture.png) <script>alert(2)</script> <svg onload="alert(3)"><path/></svg>

[bad](javascript:alert(4)) [good](https://good.example/) [ours](notes/more.md) <a href="data:text/html,x">data</a>

<form action="https://evil.example/"><button>send</button></form> <iframe src="https://evil.example/"></iframe>
<style>body { display: none }</style> hidden\u200b\u202etext

| a | b |
|---|---|
| 1 | 2 |
"""


def quoted(text: str) -> str:
    """Return a text as a YAML string."""
    return json.dumps(text, ensure_ascii=False)


def faults(page: Page) -> list[str]:
    """Return what stands in the way of a reader who cannot see the page, or has no mouse."""
    page.evaluate(AXE.read_text(encoding="utf-8") + ";null")
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations'], rules: {'label-content-name-mismatch': {enabled: true}}})"
    )
    return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"][:3]]


def sign_in(page: Page, role: str) -> None:
    """Sign in with a role at a registry whose issuer is open."""
    page.get_by_role("button", name="Sign in").first.click()
    page.get_by_label("Role").select_option(role)
    page.get_by_role("dialog").get_by_role("button", name="Sign in").click()


class ListedServer(RunningServer):
    """A server with the example skills, hostile ones, and two sources, of which one cannot be read."""

    def __init__(self, folder: Path, *args: str) -> None:
        super().__init__(folder, *args, env={"SKILL_REGISTRY_CONFIG": str(folder / "registry.toml")})
        shutil.copytree(EXAMPLES, self.skills_dir, dirs_exist_ok=True)
        for name, description in HOSTILE.items():
            write_skill(self.skills_dir, f"hostile-{name}", quoted(description), BODY, author=quoted(description))
        (self.skills_dir / "hostile-script" / "notes").mkdir()
        (self.skills_dir / "hostile-script" / "notes" / "more.md").write_text("More <b>of</b> it.\n")
        (self.skills_dir / "hostile-script" / "evals").mkdir()
        case = {"prompt": HOSTILE["script"], "expected_output": HOSTILE["image"], "assertions": [HIDDEN]}
        (self.skills_dir / "hostile-script" / "evals" / "evals.json").write_text(json.dumps({"evals": [case]}))
        shelf = folder / "shelf"
        for number in range(120):
            by = (
                {}
                if number % 10
                else {"author": ("ann lee", "Ann Lee")[number % 20 == 0 or number > 50], "license": "CC0-1.0"}
            )
            description = f"Puts book number {number} back on the shelf"
            write_skill(shelf, f"shelf-{number:03d}", description, tags="[books]", **by)
        source = '[[sources]]\nname = "{}"\ntype = "local"\npath = "{}"\n'
        text = source.format("library", shelf) + source.format("burnt", folder / "nowhere")
        (folder / "registry.toml").write_text(text)

    def listed(self) -> bool:
        """Return whether the source has been read."""
        answer = self.api("GET", "/registry/sources")
        return answer.status_code != 200 or any(one["skills"] == 120 for one in answer.json()["data"])


class Watched:
    """Opens pages and writes down what they complain of; `expected` are parts of complaints that a test provokes."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []
        self.expected: list[str] = []

    def open(self, url: str, path: str = "/", width: int = 1280, **options: Any) -> Page:
        size: ViewportSize = {"width": width, "height": 900}
        context = self._browser.new_context(base_url=url, viewport=size, **options)
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", partial(self._note_request, url))
        page.goto(path)
        return page

    def _dismiss(self, dialog: Dialog) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()

    def _note_request(self, server: str, request: Request) -> None:
        if not request.url.startswith((f"{server}/", f"blob:{server}/", "data:image/")):
            self.problems.append(request.url)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        problems = [one for one in self.problems if not any(part in one for part in self.expected)]
        assert not problems, problems
