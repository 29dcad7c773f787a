"""Screenshots of the README: the main pages with the demo world, light and dark (`make screenshots`).

Starts a site in a temporary folder, unless `--site` and `--password` name a running one.
"""

import argparse
import io
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.start import LAST_LINE, free_port

FOLDER = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking"]
SIZE, COLOURS = {"width": 1440, "height": 900}, 256
CHART_DELAY = 1_000  # ms until charts are drawn
JUDGED_TIMEOUT = 300_000  # ms until the judged queries have run
MAX_BYTES = 250_000  # per picture
COLOUR_SCHEMES = ("light", "dark")


def main() -> None:
    """Take all screenshots, of the given site or of a temporary one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", help="URL of a running site")
    parser.add_argument("--password", help="password of its user demo")
    options = parser.parse_args()
    if options.site:
        take_all(options.site, options.password)
        return
    with serve_demo() as (address, password):
        take_all(address, password)


@contextmanager
def serve_demo() -> Iterator[tuple[str, str]]:
    """Serve the demo world temporarily; yields its URL and password."""
    port, password = free_port(), secrets.token_urlsafe()
    with tempfile.TemporaryDirectory() as folder:
        env = {"RECALL_DATA": f"{folder}/data", "PORT": str(port), "DATABASE_URL": "", "RECALL_PASSWORD": password}
        command = [sys.executable, "-m", "recall_site"]
        server = subprocess.Popen(command, cwd=ROOT, env=os.environ | env, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            for line in server.stdout:
                print(line, end="")
                if LAST_LINE in line:
                    break
            yield f"http://127.0.0.1:{port}", password
        finally:
            server.terminate()
            server.communicate()


def take_all(address: str, password: str) -> None:
    """Sign in once per colour scheme, visit every page, save a screenshot."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        for scheme in COLOUR_SCHEMES:
            context = browser.new_context(base_url=address, viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            sign_in(context, password)
            warm_up(context)
            for name, visit in PICTURES.items():
                page = context.new_page()
                visit(page)
                page.wait_for_timeout(CHART_DELAY)
                save_picture(page.screenshot(), FOLDER / f"{name}{'' if scheme == 'light' else '-dark'}.png")
                page.close()
        browser.close()


def sign_in(context: BrowserContext, password: str) -> None:
    """Sign in as demo."""
    page = context.new_page()
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("demo")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/demo/$"))
    page.close()


def warm_up(context: BrowserContext) -> None:
    """Run the Lab's example queries twice, so that no screenshot shows cold-start latencies."""
    page = context.new_page()
    page.goto("/demo/lab/")
    for address in 2 * [one.get_attribute("href") for one in page.locator(".examples a").all()]:
        page.goto(f"/demo/lab/{address}")
    page.close()


def save_picture(screenshot: bytes, path: Path) -> None:
    """Save a picture with a reduced palette, a third of the size."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    assert size <= MAX_BYTES, f"{path.name} has {size:,} bytes; must be at most {MAX_BYTES:,}"
    print(f"{path.name:22} {size / 1000:6.1f} kB")


def lab(page: Page) -> None:
    """A query with its first hit explained and a slider moved."""
    page.goto("/demo/lab/?query=Who+reviews+schema+changes%3F")
    slider = page.locator("#params input[type=range]").nth(1)
    slider.focus()
    slider.press("PageDown")
    page.get_by_text("Against the start").wait_for()
    page.locator(".why > summary").first.click()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def guards(page: Page) -> None:
    """The example, checked."""
    page.goto("/demo/guards/?example=1")
    page.get_by_role("button", name="Check the answer").click()
    page.get_by_text("Faithfulness").first.wait_for()


def memory(page: Page) -> None:
    """A memory with related ones."""
    page.goto("/demo/memories/?q=PostgreSQL")
    page.locator("main table a[href*='/memories/']").first.click()
    page.get_by_role("heading", level=1).wait_for()


def tune(page: Page) -> None:
    """The metric over all judged queries with a slider moved; the worker runs them at start."""
    page.goto("/demo/tune/")
    page.locator("#metric-1").wait_for(timeout=JUDGED_TIMEOUT)
    slider = page.locator("#p-rerank")
    slider.focus()
    slider.press("PageDown")
    page.get_by_text("1 changed from").wait_for()
    page.locator("#curve-rerank svg").wait_for(timeout=JUDGED_TIMEOUT)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def optimise(page: Page) -> None:
    """An optimiser run to its end, saved as a profile and evaluated; once for both colour schemes."""
    page.goto("/demo/optimise/")
    if not page.locator("#verdict-h").count():
        page.get_by_role("button", name="Search").click()
        page.locator("#parts-h").wait_for(timeout=JUDGED_TIMEOUT)
        page.get_by_role("button", name="Save as profile").click()
        page.wait_for_load_state()
        page.goto("/demo/profiles/")
        page.locator(".versions .name a").first.click()
        page.get_by_role("button", name="Evaluate").first.click()
        page.get_by_text("nDCG@10").first.wait_for(timeout=JUDGED_TIMEOUT)
        page.goto("/demo/optimise/")
    page.locator("#parts-h").wait_for(timeout=JUDGED_TIMEOUT)


def thresholds(page: Page) -> None:
    """All thresholds, one moved, when what it changes is counted."""
    page.goto("/demo/thresholds/?recall.min_confidence=0.6&policy.dedup_duplicate=0.88")
    page.get_by_text("Each row counts").first.wait_for(timeout=JUDGED_TIMEOUT)


def open_page(address: str) -> Callable[[Page], None]:
    """A page as it opens."""
    return lambda page: page.goto(address) and None


PICTURES: dict[str, Callable[[Page], None]] = {
    "overview": open_page("/demo/"),
    "memories": open_page("/demo/memories/"),
    "memory": memory,
    "thresholds": thresholds,
    "lab": lab,
    "decay": open_page("/demo/decay/"),
    "dedup": open_page("/demo/dedup/"),
    "graph": open_page("/demo/graph/?entity=Maya+Lindqvist"),
    "guards": guards,
    "traces": open_page("/demo/traces/"),
    "health": open_page("/demo/health/"),
    "formulas": open_page("/formulas/recall/"),
    "worked-example": open_page("/demo/worked-example/"),
    "tune": tune,
    "optimise": optimise,
    "profiles": open_page("/demo/profiles/"),
    "ablation": open_page("/demo/ablation/"),
    "judgements": open_page("/demo/judgements/"),
    "calibrate": open_page("/demo/calibrate/"),
}


if __name__ == "__main__":
    main()
