"""Takes the screenshots in the README, with the example skills: `python docs/images/make.py`."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support.browser import launch

HERE = Path(__file__).parent
SKILLS = HERE.parents[1] / "examples" / "skills"
COMMAND = str(Path(sys.executable).with_name("skill-registry"))
PICTURES = {
    "search.png": ("/?q=my+container+image+is+too+big", "light"),
    "skill.png": ("/?skill=csv-cleanup", "dark"),
}


def take(browser: Browser, url: str, name: str, path: str, scheme: str) -> None:
    """Take one picture."""
    page = browser.new_page(viewport={"width": 1120, "height": 640}, color_scheme=scheme)  # type: ignore[arg-type]
    for _ in range(2):  # the first search loads the model
        page.goto(url + path)
        page.wait_for_load_state("networkidle")
    page.locator(".card a.open:visible, .markdown h1").first.wait_for()
    page.wait_for_timeout(500)
    page.screenshot(path=HERE / name)
    page.close()


def main() -> None:
    """Serve the examples, take the pictures."""
    with tempfile.TemporaryDirectory() as data:
        options = ["--host", "127.0.0.1", "--port", "0", "--skills-dir", str(SKILLS), "--data-dir", data]
        server = subprocess.Popen([COMMAND, "serve", *options, "--log-level", "error"])  # noqa: S603 - ours
        try:
            time.sleep(15)  # for the model to be loaded and every text to be embedded
            url = json.loads((Path(data) / "skill-registry.lock").read_text())["url"]
            with sync_playwright() as playwright:
                browser = launch(playwright)
                for name, (path, scheme) in PICTURES.items():
                    take(browser, url, name, path, scheme)
                browser.close()
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
