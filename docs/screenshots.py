"""The pictures of the README: the main pages with the demo world, light and dark; `make screenshots` takes them.

A site is brought up for it, in a folder that is thrown away; `--site` and `--password` name one that runs already.
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

from benchmarks.start import LAST_LINE, free_port  # noqa: E402

FOLDER = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking"]
SIZE, COLOURS = {"width": 1440, "height": 900}, 256
DRAWN = 1_000  # milliseconds after which charts stand
ASKED = 300_000  # milliseconds in which the judged questions are asked
LARGEST = 250_000  # bytes of a picture
SCHEMES = ("light", "dark")


def main() -> None:
    """Take every picture, of the site that is named or of one of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", help="where one is served already")
    parser.add_argument("--password", help="of its user demo")
    options = parser.parse_args()
    if options.site:
        take(options.site, options.password)
        return
    with site() as (address, password):
        take(address, password)


@contextmanager
def site() -> Iterator[tuple[str, str]]:
    """The demo world, served for as long as it is needed; its address and password."""
    port, password = free_port(), secrets.token_urlsafe()
    with tempfile.TemporaryDirectory() as folder:
        told = {"RECALL_DATA": f"{folder}/data", "PORT": str(port), "DATABASE_URL": "", "RECALL_PASSWORD": password}
        command = [sys.executable, "-m", "recall_site"]
        served = subprocess.Popen(command, cwd=ROOT, env=os.environ | told, stdout=subprocess.PIPE, text=True)
        try:
            assert served.stdout is not None
            for line in served.stdout:
                print(line, end="")
                if LAST_LINE in line:
                    break
            yield f"http://127.0.0.1:{port}", password
        finally:
            served.terminate()
            served.communicate()


def take(address: str, password: str) -> None:
    """Sign in once for each scheme, visit, and keep what is seen."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        for scheme in SCHEMES:
            context = browser.new_context(base_url=address, viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            sign_in(context, password)
            ask(context)
            for name, visit in PICTURES.items():
                page = context.new_page()
                visit(page)
                page.wait_for_timeout(DRAWN)
                keep(page.screenshot(), FOLDER / f"{name}{'' if scheme == 'light' else '-dark'}.png")
                page.close()
        browser.close()


def sign_in(context: BrowserContext, password: str) -> None:
    """Come in as demo."""
    page = context.new_page()
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("demo")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/demo/$"))
    page.close()


def ask(context: BrowserContext) -> None:
    """Put the questions that the Lab offers, so that no picture shows how long a site takes that has just come up."""
    page = context.new_page()
    page.goto("/demo/lab/")
    for address in 2 * [one.get_attribute("href") for one in page.locator(".examples a").all()]:
        page.goto(f"/demo/lab/{address}")
    page.close()


def keep(seen: bytes, path: Path) -> None:
    """Write a picture with few colours, which is a third of its size."""
    picture = Image.open(io.BytesIO(seen)).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    assert size <= LARGEST, f"{path.name} has {size:,} bytes, at most {LARGEST:,} are wanted"
    print(f"{path.name:22} {size / 1000:6.1f} kB")


def lab(page: Page) -> None:
    """A question with its first hit explained and a slider moved."""
    page.goto("/demo/lab/?query=Which+database+for+the+billing+service%3F")
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
    """One memory that others bear on."""
    page.goto("/demo/memories/?q=PostgreSQL")
    page.locator("main table a[href*='/memories/']").first.click()
    page.get_by_role("heading", level=1).wait_for()


def tune(page: Page) -> None:
    """The metric of all judged questions with a slider moved; they are asked by the worker as the site comes up."""
    page.goto("/demo/tune/")
    page.locator("#metric-1").wait_for(timeout=ASKED)
    slider = page.locator("#p-rerank")
    slider.focus()
    slider.press("PageDown")
    page.get_by_text("1 moved from").wait_for()
    page.locator("#curve-rerank svg").wait_for(timeout=ASKED)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def optimise(page: Page) -> None:
    """A search that was begun, watched to its end, and kept as a profile that was evaluated; once for both schemes."""
    page.goto("/demo/optimise/")
    if not page.locator("#verdict-h").count():
        page.get_by_role("button", name="Search").click()
        page.locator("#parts-h").wait_for(timeout=ASKED)
        page.get_by_role("button", name="Save as profile").click()
        page.wait_for_load_state()
        page.goto("/demo/profiles/")
        page.locator(".versions .name a").first.click()
        page.get_by_role("button", name="Measure").first.click()
        page.get_by_text("nDCG@10").first.wait_for(timeout=ASKED)
        page.goto("/demo/optimise/")
    page.locator("#parts-h").wait_for(timeout=ASKED)


def at(address: str) -> Callable[[Page], None]:
    """A page as it opens."""
    return lambda page: page.goto(address) and None


PICTURES: dict[str, Callable[[Page], None]] = {
    "overview": at("/demo/"),
    "memories": at("/demo/memories/"),
    "memory": memory,
    "lab": lab,
    "decay": at("/demo/decay/"),
    "dedup": at("/demo/dedup/"),
    "graph": at("/demo/graph/?entity=Maya+Lindqvist"),
    "guards": guards,
    "traces": at("/demo/traces/"),
    "health": at("/demo/health/"),
    "formulas": at("/formulas/recall/"),
    "tune": tune,
    "optimise": optimise,
    "profiles": at("/demo/profiles/"),
    "ablation": at("/demo/ablation/"),
    "judgements": at("/demo/judgements/"),
    "calibrate": at("/demo/calibrate/"),
}


if __name__ == "__main__":
    main()
