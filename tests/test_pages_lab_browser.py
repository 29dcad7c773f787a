"""The Lab in a real browser: a slider is dragged and the order really changes."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from retrieval_world import told

from memories.models import Membership, Namespace

QUESTION = "Which database does Maya prefer for invoicing?"


@pytest.fixture
def lab_world(transactional_db: None) -> Namespace:
    namespace = told("lab-world")
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(user=user, namespace=namespace, role="admin")
    return namespace


def settle(page: Page) -> None:
    """Wait until the parts that follow a moved slider have asked and been answered."""
    page.wait_for_timeout(800)
    page.wait_for_function("!document.querySelector('.htmx-request')", timeout=30_000)


def shown(page: Page) -> list[str]:
    return [str(one.get_attribute("id")) for one in page.locator(".hits > li").all()]


def test_a_person_asks_drags_a_slider_sees_it_move_and_shares_it(lab_world: Namespace, page: Page) -> None:
    page.goto("/lab-world/lab/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Ranked by").select_option("recall")
    page.locator("#q").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text("Replayed from trace")
    expect(page.locator("[data-figure=fig-skyline] .barlayer path").first).to_be_visible(timeout=30_000)
    start = shown(page)
    track = page.locator("#p-weight_semantic")
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    expect(page.locator("#summary")).to_contain_text("Against the start")
    expect(page).to_have_url(re.compile(r"p\.weight_semantic=0\.0(&|$)"))
    moved = shown(page)
    assert moved != start
    assert page.locator(".move.up, .move.new").count() > 0
    expect(page.locator("#count")).to_have_text("1 changed")

    page.keyboard.press("j")
    expect(page.locator(".hits > li.now")).to_have_attribute("id", moved[0])
    page.keyboard.press("e")
    expect(page.locator(".hits > li.now .tree")).to_be_visible()
    page.keyboard.press("3")
    expect(page.locator(".hits > li.now [aria-pressed=true]")).to_have_text("3")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()

    settle(page)
    page.goto(page.url)
    expect(page.locator("#summary")).to_contain_text("Against the start")
    assert shown(page) == moved
    page.get_by_role("button", name="Reset all").click()
    expect(page.locator("#count")).to_have_text("0 changed")
    expect(page.locator("#summary")).not_to_contain_text("Against the start")
    assert shown(page) == start
    page.locator("#beside-way").select_option("contextdb")
    expect(page.locator("[data-figure=fig-bump] .scatterlayer .trace").first).to_be_visible(timeout=30_000)
    settle(page)
