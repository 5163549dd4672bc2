"""What the page costs: bytes of the first load, time from an answer to its picture, the longest task of each view.

A catalog of 10,000 skills, the served page, and chromium. Prints a table, and exits with 1 where a limit is not kept.
The limit of a task holds for the processor time of the page's thread. Its duration contains what the processors spend
meanwhile on other programs, and on drawing, which is done on processors where there is no graphics card.

    python benchmarks/ui.py [--skills 10000] [--json OUT]
"""

import argparse
import contextlib
import gzip
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, Response, sync_playwright

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.browser import launch

TYPED = "turn a table of numbers into a report"
KEY_MS = 130  # slower than the page waits for the next key, so that every key is a search
FILES = {"coloured.py": 800, "long.py": 4900}
"""Files of the last skill by their number of lines: the longest in colours, and the longest with numbered lines."""

LIMITS = {
    "first_load_kb": 70,
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
    const fetched = window.fetch;
    let seen;
    window.fetch = async (...given) => {
      const isSearch = String(given[0]).endsWith("/search");
      if (isSearch) seen?.disconnect();  // what a newer search has replaced is never painted
      const answer = await fetched(...given);
      if (isSearch) {
        await answer.clone().arrayBuffer();
        const at = performance.now();
        const mine = seen = new MutationObserver(() => {
          mine.disconnect();
          requestAnimationFrame(() => setTimeout(() => window.painted.push(performance.now() - at)));
        });
        mine.observe(document.getElementById("found"), { subtree: true, childList: true, characterData: true });
      }
      return answer;
    };
    const listener = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
    Object.defineProperty(Worker.prototype, "onmessage", {
      set(handler) {
        listener.set.call(this, (event) => {
          const at = performance.now();
          handler(event);
          const drawn = () => document.querySelector("a.open")
            ? requestAnimationFrame(() => setTimeout(() => (window.listed ??= performance.now() - at)))
            : requestAnimationFrame(drawn);
          drawn();
        });
      },
    });
"""


def name_of(number: int) -> str:
    """Return the name of a skill."""
    return f"{VERBS[number % 10]}-{NOUNS[number // 10 % 10]}-{number}"


def write_skills(folder: Path, count: int) -> None:
    """Write the skill folders."""
    for number in range(count):
        verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
        place = folder / name_of(number)
        place.mkdir(parents=True)
        text = f"{verb.title()}s a {noun} of numbers into a {NOUNS[number % 7]}, in the way of team {number % 97}."
        front = f"name: {place.name}\ndescription: {text}\nmetadata:\n  tags: {noun}, team-{number % 97}\n"
        (place / "SKILL.md").write_text(f"---\n{front}---\n# Steps\n\n{text}\n")
    for name, lines in FILES.items():
        (place / name).write_text("".join(f"if x[{n % 7}] == {n}: y = x\n" for n in range(lines)))


def first_load(page: Page, url: str) -> int:
    """Return the bytes of page, styles and scripts as they are sent, compressed where the service compresses."""
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 - playwright marks what it is given
    page.goto(url)
    page.locator("a.open").first.wait_for()
    return sum(sent(answer) for answer in answers if answer.url == f"{url}/" or "/ui/" in answer.url)


def sent(answer: Response) -> int:
    """Return the bytes of an answer's body as it was sent."""
    body = answer.body()
    return len(gzip.compress(body)) if answer.headers.get("content-encoding") == "gzip" else len(body)


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
        size = first_load(page, url)
        page.add_init_script(WATCH)
        tasks = LongestTasks(browser, page)
        with tasks.of("loading"):
            page.goto(url)
            page.locator("a.open").first.wait_for()
            page.wait_for_timeout(1000)
        listed = page.evaluate("window.listed")
        with tasks.of("typing"):
            page.keyboard.type(TYPED, delay=KEY_MS)
            page.wait_for_timeout(1000)
        painted = page.evaluate("window.painted")
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
        "first_load_kb": round(size / 1000, 1),
        "listed_ms": round(listed, 1),
        "painted_ms": round(max(painted), 1),
        "painted_median_ms": round(statistics.median(painted), 1),
        "searches": len(painted),
        **tasks.figures,
    }


def main() -> None:
    """Serve, measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure what the page costs.")
    parser.add_argument("--skills", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_skills(folder / "skills", arguments.skills)
        command = [COMMAND, "serve", "--host", "127.0.0.1", "--port", "0", "--embedding-provider", "none"]
        places = ["--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data"), "--log-level", "error"]
        server = subprocess.Popen([*command, *places])
        try:
            url = ready_url(folder / "data" / "skill-registry.lock", arguments.skills)
            figures = measure(url, arguments.skills)
        finally:
            server.terminate()
            server.wait(60)
    machine = platform.processor() or platform.machine()
    keep(arguments.json, {"skills": arguments.skills, "machine": machine, "limits": LIMITS, **figures})
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
