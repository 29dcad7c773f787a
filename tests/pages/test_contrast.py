"""Contrast (WCAG AA): the colour tokens, and every page in a browser, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern
from playwright.sync_api import Page, expect

from memories.models import JudgementSet, Membership, Memory, Namespace, ProfileVersion, Trace, Upload
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import store_trace
from memories.tuning.profile_versions import add_profile_version
from memories.urls import urlpatterns
from memories.web.retrieval_body import query_from_body
from memories.web.uploads import store_upload
from scoring.systems import SYSTEMS
from tests.support.contrast import CONTROL, TEXT, faint, ratio
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.retrieval_world import store_world

STYLES = sorted((Path(__file__).parents[2] / "static").glob("*.css"))
CSS = "\n".join(path.read_text() for path in STYLES)
TOKENS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", CSS)
}
PAPERS = ("bg", "surface", "sunken")
# What lies on something else than paper.
ON = {"on-ink": ("ink", "ink-2"), "on-fill": ("semantic", "bm25", "entity", "temporal", "traversal", "edges")}
SOFT = {"good": "good-soft", "bad": "bad-soft", "ink": "mark", "ink-2": "mark-soft", "ink-3": "mark-soft"}
# Borders of what can be used, the ring around what has the keyboard, marks of what was changed, and what charts draw.
DRAWN = ("control", "focus", "mark-line", *ON["on-fill"], "good", "bad")
# Charts are drawn again in the frame after a change of scheme.
CHARTS_REDRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


def test_contrast_is_that_of_wcag() -> None:
    assert ratio("#000000", "#ffffff") == pytest.approx(21)
    assert ratio("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_ink_can_be_read_on_every_paper(scheme: str) -> None:
    inks = set(re.findall(r"(?<![\w-])color: var\(--([\w-]+)\)", CSS)) - ON.keys()
    assert {"ink", "ink-2", "ink-3", "good", "bad"} <= inks
    pairs = [(ink, paper) for ink in inks for paper in PAPERS] + list(SOFT.items())
    pairs += [(ink, below) for ink, some in ON.items() for below in some]
    low = {pair: round(ratio(*(TOKENS[one][scheme] for one in pair)), 2) for pair in pairs}
    assert {pair: one for pair, one in low.items() if one < TEXT} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_control_and_every_colour_of_a_chart_stands_out_from_every_paper(scheme: str) -> None:
    low = {(one, paper): ratio(TOKENS[one][scheme], TOKENS[paper][scheme]) for one in DRAWN for paper in PAPERS}
    assert {pair: one for pair, one in low.items() if one < CONTROL} == {}


def addresses(namespace: Namespace) -> Iterator[str]:
    """Every page of a namespace, those of its things, and those outside of it."""
    for pattern in urlpatterns:
        if isinstance(pattern, URLPattern) and re.fullmatch(r"<slug:namespace>/([\w-]+/)?", str(pattern.pattern)):
            yield str(pattern.pattern).replace("<slug:namespace>", namespace.slug)
    trace = Trace.objects.within(namespace).earliest("id")
    whole = JudgementSet.objects.within(namespace).get()
    version = ProfileVersion.objects.within(namespace).get()
    missed = Memory.objects.within(namespace).get(content__startswith="The kitchen at Arrive")
    file = Upload.objects.within(namespace).get()
    things = (
        f"add/files/{file.id}/",
        f"lab/?trace={trace.id}&p.rrf_k=20&beside=all&missing={missed.id}",
        f"lab/?trace={trace.id}&p.rrf_k=999",
        f"traces/{trace.id}/",
        f"memories/{missed.id}/",
        f"memories/{missed.id}/?query=oven",
        f"judgements/{whole.id}/",
        f"judgements/{whole.id}/judge/",
        f"profiles/{version.id}/",
        "guards/?example=1",
        "graph/?entity=Maya+Lindqvist",
        "nowhere/",
    )
    yield from (f"{namespace.slug}/{one}" for one in things)
    yield from ("formulas/", *(f"formulas/{system}/" for system in SYSTEMS))


@pytest.fixture
def home(transactional_db: None) -> Namespace:
    """A namespace with something on each of its pages."""
    namespace = store_world("home")
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(user=user, namespace=namespace, role="admin")
    asked = {"query": "What is new in the kitchen at Arrive?", "top_k": 10, "user": "", "session": "", "params": {}}
    asked |= {"on_low_confidence": "abstain"} | dict.fromkeys(("types", "tags", "users", "levels"), ())
    retrieval = retrieve(query_from_body(namespace, asked, resolve_config(namespace, system="recall", params={})))
    store_trace(retrieval, build_answer(retrieval), key=None)
    store_upload(namespace, "notes.csv", b"note,when\nThe oven is new,2025-01-01\nThe door sticks,soon\n", by="maya")
    trace_set(namespace, make_judgement_set(namespace), resolve_config(namespace, params={}))
    add_profile_version(
        namespace, name="careful", system="recall", params={"rrf_k": 20.0}, parent=None, note="", by="maya"
    )
    return namespace


def test_every_text_of_every_page_stands_out_from_what_lies_behind_it(
    home: Namespace, page: Page, complaints: list[str]
) -> None:
    found = {}

    def look(address: str) -> None:
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.evaluate(CHARTS_REDRAWN)
            found[address, scheme] = faint(page)

    page.goto("/sign-in/")
    look("sign-in/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/home/")
    for address in addresses(home):
        page.goto(f"/{address}")
        expect(page.locator(".htmx-request")).to_have_count(0, timeout=30_000)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        look(address)
    complaints[:] = [one for one in complaints if "404" not in one]  # of the page that is not there
    assert {address: texts for address, (_, texts) in found.items() if texts} == {}
    assert all(count > 5 for count, _ in found.values())
