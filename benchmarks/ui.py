"""What the page costs: requests and bytes of a first load, time from a key to its picture, the longest tasks.

Catalogs of 2,846 and 100,000 skills, the served page, and chromium. Prints a table, and exits with 1 where a limit is
not kept. A first load is measured with each catalog, everything else with the largest. The limit of a task holds for
the processor time of the page's thread. Its duration contains what the processors spend meanwhile on other programs,
and on drawing, which is done on processors where there is no graphics card.

    python benchmarks/ui.py [--skills 2846,100000] [--json OUT]
"""

import argparse
import contextlib
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import Skill, now
from registry.findings.engine import skill_findings
from results_file import keep
from support.browser import launch

TYPED = "turn a table of numbers into a report"
KEY_MS = 130  # slower than the page waits for the next key, so that every key is a search
FILES = {"coloured.py": 800, "long.py": 4900}
"""Files of the last skill by their number of lines: the longest in colours, and the longest with numbered lines."""

FIRST_VIEWS = {"start": "/", "list": "/?view=skills", "search": "/?q=table", "skill": "/skills/{name}"}

LIMITS = {
    "first_load_kb": 80,
    "first_load_requests": 8,
    "key_to_painted_ms": 120,
    "painted_ms": 100,
    "listed_ms": 100,
    "longest_task_loading_cpu_ms": 50,
    "longest_task_typing_cpu_ms": 50,
    "longest_task_scrolling_cpu_ms": 50,
    "longest_task_reading_cpu_ms": 50,
}
TRACED = ["toplevel", "__metadata"]
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")

COMMAND = str(Path(sys.executable).with_name("skill-registry"))
NOUNS = ("table", "report", "invoice", "picture", "letter", "schedule", "recipe", "contract", "map", "survey")
VERBS = ("turn", "check", "write", "draw", "sort", "translate", "shorten", "compare", "plan", "explain")

WATCH = """
    window.painted = [];
    window.fromKey = [];
    const fetched = window.fetch;
    let seen;
    let typedAt;
    addEventListener("input", () => (typedAt = performance.now()), true);
    window.fetch = async (...given) => {
      const isSearch = String(given[0]).endsWith("/search");
      const isList = String(given[0]).includes("/skills?");
      const key = typedAt;
      if (isSearch) seen?.disconnect();  // what a newer search has replaced is never painted
      const answer = await fetched(...given);
      if (isSearch) {
        await answer.clone().arrayBuffer();
        const at = performance.now();
        const mine = seen = new MutationObserver(() => {
          mine.disconnect();
          requestAnimationFrame(() => setTimeout(() => {
            window.painted.push(performance.now() - at);
            window.fromKey.push(performance.now() - key);
          }));
        });
        mine.observe(document.getElementById("found"), { subtree: true, childList: true, characterData: true });
      }
      if (isList) {
        await answer.clone().arrayBuffer();
        const at = performance.now();
        const drawn = () => document.querySelector("a.open")
          ? requestAnimationFrame(() => setTimeout(() => (window.listed ??= performance.now() - at)))
          : requestAnimationFrame(drawn);
        drawn();
      }
      return answer;
    };
"""


def name_of(number: int) -> str:
    """Return the name of a skill."""
    return f"{VERBS[number % 10]}-{NOUNS[number // 10 % 10]}-{number}"


def fill(folder: Path, count: int) -> None:
    """Make a data directory with a catalog of records, the last of which is a folder in `skills` with the files."""
    with closing(SqliteDatabase(folder / "data" / "skill-registry.db")) as database:
        CatalogDocuments(database)
        catalog = Catalog(database, now)
        for start in range(0, count - 1, 1000):
            with database.write() as transaction:
                for number in range(start, min(start + 1000, count - 1)):
                    catalog.save(transaction, skill(number), f"# Steps\n\n{text_of(number)}\n")
    place = folder / "skills" / name_of(count - 1)
    place.mkdir(parents=True)
    front = f"name: {place.name}\ndescription: {text_of(count - 1)}\nmetadata:\n  tags: files\n"
    (place / "SKILL.md").write_text(f"---\n{front}---\n# Steps\n\nRead the files.\n")
    for name, lines in FILES.items():
        (place / name).write_text("".join(f"if x[{n % 7}] == {n}: y = x\n" for n in range(lines)))


def text_of(number: int) -> str:
    """Return the description of a skill."""
    verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
    return f"{verb.title()}s a {noun} of numbers into a {NOUNS[number % 7]}, in the way of team {number % 97}."


def skill(number: int) -> Skill:
    """Return a skill. Its findings are there, else the service would look for them during the measurement."""
    tags = [NOUNS[number // 10 % 10], f"team-{number % 97}"]
    more = {"author": f"Author {number % 300}", "license": ("MIT", "Apache-2.0", "CC0-1.0")[number % 3]}
    return Skill(
        id=name_of(number), name=name_of(number), description=text_of(number), version="1.0.0", tags=tags,
        findings=skill_findings([]), **more,
    )  # fmt: skip


def first_load(browser: Browser, url: str) -> tuple[int, int]:
    """Return requests and bytes of a first visit, the answers of the service too, as they are sent: compressed."""
    context = browser.new_context()
    page = context.new_page()
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.goto(url)
    page.locator("a.open, .markdown").first.wait_for()
    page.wait_for_load_state("networkidle")
    context.close()
    return len(sizes), sum(sizes)


class LongestTasks:
    """The longest tasks of the page's thread, in milliseconds, by what was done meanwhile."""

    def __init__(self, browser: Browser, page: Page) -> None:
        self._browser = browser
        self._page = page
        self.figures: dict[str, float] = {}

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Watch the tasks of a block."""
        self._browser.start_tracing(page=self._page, categories=TRACED)
        yield
        events = json.loads(self._browser.stop_tracing())["traceEvents"]
        pages = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks = [event for event in events if event["name"] in TASKS and (event["pid"], event["tid"]) in pages]
        for figure, key in ((f"longest_task_{name}_ms", "dur"), (f"longest_task_{name}_cpu_ms", "tdur")):
            longest = max(task.get(key, 0) for task in tasks) / 1000
            self.figures[figure] = max(round(longest, 1), self.figures.get(figure, 0))


def measure(url: str, skills: int) -> dict[str, Any]:
    """Return the figures of one visit of a catalog with this many skills."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        page.add_init_script(WATCH)
        tasks = LongestTasks(browser, page)
        with tasks.of("loading"):
            page.goto(f"{url}/?view=skills")
            page.locator("a.open").first.wait_for()
            page.wait_for_timeout(1000)
        listed = page.evaluate("window.listed")
        page.get_by_role("searchbox").focus()
        with tasks.of("typing"):
            page.keyboard.type(TYPED, delay=KEY_MS)
            page.wait_for_timeout(1000)
        painted, keys = page.evaluate("window.painted"), page.evaluate("window.fromKey")
        page.goto(f"{url}/?sort=name")
        page.locator("a.open").first.wait_for()
        with tasks.of("scrolling"):
            for _ in range(60):
                page.mouse.wheel(0, 4000)
                page.wait_for_timeout(30)
        for name, lines in FILES.items():
            page.goto("about:blank")  # clearing away the page before would be a task of this one
            with tasks.of("reading"):
                page.goto(f"{url}/skills/{name_of(skills - 1)}?file={name}")
                page.locator(f"#L{lines}").wait_for(state="attached")
                page.locator("#L1").wait_for(state="attached")
                page.wait_for_timeout(2000)
        browser.close()
    return {
        "listed_ms": round(listed, 1),
        "painted_ms": round(max(painted), 1),
        "painted_median_ms": round(statistics.median(painted), 1),
        "key_to_painted_ms": round(max(keys), 1),
        "key_to_painted_median_ms": round(statistics.median(keys), 1),
        "searches": len(painted),
        **tasks.figures,
    }


def first_loads(url: str, skills: int) -> dict[str, Any]:
    """Return the requests and kB of a first visit of each view."""
    figures = {}
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for view, path in FIRST_VIEWS.items():
            requests, size = first_load(browser, url + path.format(name=name_of(skills - 1)))
            figures[view] = {"requests": requests, "kb": round(size / 1000, 1)}
        browser.close()
    return figures


@contextlib.contextmanager
def served(skills: int) -> Iterator[str]:
    """Serve a catalog with this many skills; yield its URL."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fill(folder, skills)
        command = [COMMAND, "serve", "--host", "127.0.0.1", "--port", "0", "--embedding-provider", "none"]
        places = ["--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data"), "--log-level", "error"]
        server = subprocess.Popen([*command, *places])
        try:
            yield ready_url(folder / "data" / "skill-registry.lock", skills)
        finally:
            server.terminate()
            server.wait(60)


def main() -> None:
    """Serve, measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure what the page costs.")
    parser.add_argument("--skills", default="2846,100000", help="sizes of the catalogs, the largest last")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.skills.split(",")]
    loads = {}
    figures: dict[str, Any] = {}
    for skills in sizes:
        with served(skills) as url:
            loads[skills] = first_loads(url, skills)
            figures = measure(url, skills) if skills == sizes[-1] else {}
    every = [load for views in loads.values() for load in views.values()]
    figures = {
        "first_load_kb": max(load["kb"] for load in every),
        "first_load_requests": max(load["requests"] for load in every),
        **figures,
    }
    machine = platform.processor() or platform.machine()
    keep(arguments.json, {"skills": sizes, "machine": machine, "limits": LIMITS, "first_loads": loads, **figures})
    for skills, views in loads.items():
        print(f"first load, {skills:,} skills: {views}")
    for name, value in figures.items():
        print(f"{name:29} {value:>8}  {f'limit {LIMITS[name]}' if name in LIMITS else ''}")
    if any(figures[name] > limit for name, limit in LIMITS.items()):
        sys.exit("a limit is not kept")


def ready_url(lock: Path, skills: int) -> str:
    """Return where the server listens, once it has read every skill."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        time.sleep(0.5)
        try:
            url = str(json.loads(lock.read_text())["url"])
            status = httpx.get(f"{url}/api/v1/status", timeout=30).json()["data"]
        except (OSError, ValueError, httpx.HTTPError):
            continue
        if status["skills"] == skills and status["status"] == "ok":
            return url
    sys.exit("the server has not read the skills in ten minutes")


if __name__ == "__main__":
    main()
