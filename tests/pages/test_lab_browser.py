"""The Lab in a real browser: a slider is dragged and the order really changes."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, Route, expect

from memories.models import Membership, Namespace
from memories.pages.lab import views as lab_page
from tests.support.retrieval_world import store_world

QUESTION = "Which database does Maya prefer for invoicing?"


@pytest.fixture
def lab_world(transactional_db: None) -> Namespace:
    namespace = store_world("lab-world")
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(user=user, namespace=namespace, role="admin")
    return namespace


def settle(page: Page) -> None:
    """Wait until the panels that a moved slider refreshes are loaded."""
    page.wait_for_timeout(800)
    expect(page.locator(".htmx-request")).to_have_count(0, timeout=30_000)


def hit_ids(page: Page) -> list[str]:
    return [str(one.get_attribute("id")) for one in page.locator(".hits > li").all()]


def sign_in(page: Page) -> None:
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()


def run_query(page: Page, system: str = "recall") -> None:
    """Sign in and run the query with a system, until the scripts of the answer's page listen."""
    page.goto("/lab-world/lab/")
    sign_in(page)
    page.get_by_label("Ranked by").select_option(system)
    page.wait_for_load_state()  # Enter is the script's: in a text box it would begin a line
    page.locator("#q").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text("Replayed from trace")
    page.wait_for_load_state()


def test_a_dimmed_slider_wakes_as_soon_as_it_can_move_something(lab_world: Namespace, page: Page) -> None:
    run_query(page, "memorysync")
    floor = page.locator("[data-param=freshness_floor]")
    expect(floor).to_have_class(re.compile("inert"))
    expect(floor.get_by_text("No effect: decay has no weight")).to_be_visible()
    expect(floor.locator("[type=range]")).to_be_enabled()
    number_input(page, "weight_decay").fill("0.3")
    expect(floor).not_to_have_class(re.compile("inert"), timeout=30_000)
    expect(floor.locator(".no-effect")).to_be_hidden()


def number_input(page: Page, name: str) -> Locator:
    """The number input of a slider."""
    return page.locator(f"[name='p.{name}']")


def test_a_person_runs_a_query_drags_a_slider_and_shares_the_url(lab_world: Namespace, page: Page) -> None:
    run_query(page)
    expect(page.locator("[data-figure=fig-skyline] .barlayer path").first).to_be_visible(timeout=30_000)
    start = hit_ids(page)
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
    moved = hit_ids(page)
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
    assert hit_ids(page) == moved
    page.get_by_role("button", name="Reset all").click()
    expect(page.locator("#count")).to_have_text("0 changed")
    expect(page.locator("#summary")).not_to_contain_text("Against the start")
    assert hit_ids(page) == start
    page.locator("#beside-way").select_option("contextdb")
    expect(page.locator("[data-figure=fig-bump] .scatterlayer .trace").first).to_be_visible(timeout=30_000)
    settle(page)


def test_a_value_out_of_bounds_is_reported_stays_as_typed_and_blocks_no_other(lab_world: Namespace, page: Page) -> None:
    run_query(page)
    number_input(page, "rrf_k").fill("5")
    expect(page.locator("#param-problems .problem")).to_contain_text("rrf_k must be a number from 10 to 200; got 5")
    expect(number_input(page, "rrf_k")).to_have_value("5")
    number_input(page, "weight_semantic").fill("0")
    expect(page.locator("#summary")).to_contain_text("Against the start")
    number_input(page, "rrf_k").fill("50")
    expect(page.locator("#param-problems .problem")).to_have_count(0)
    settle(page)


def test_a_failed_request_is_reported_until_one_succeeds(
    lab_world: Namespace, page: Page, monkeypatch: pytest.MonkeyPatch, complaints: list[str]
) -> None:
    run_query(page)
    problem = page.locator("#failure[role=alert]")
    with monkeypatch.context() as broken:
        broken.setattr(lab_page, "replay", None)
        number_input(page, "rrf_k").fill("50")
        expect(problem).to_contain_text("Something broke on our side")
        expect(problem).to_contain_text(re.compile(r"your input is kept; try again\.request [0-9a-f]{32}"))
        expect(number_input(page, "rrf_k")).to_have_value("50")
    page.context.set_offline(True)
    number_input(page, "rrf_k").fill("40")
    expect(problem).to_contain_text("The server cannot be reached.")
    expect(problem).to_be_in_viewport()
    page.context.set_offline(False)
    complaints.clear()
    number_input(page, "rrf_k").fill("30")
    expect(page.locator("#summary")).to_contain_text("Against the start")
    expect(problem).to_have_count(0)
    settle(page)


def test_who_is_signed_out_meanwhile_is_led_to_the_door_and_back(lab_world: Namespace, page: Page) -> None:
    run_query(page)
    number_input(page, "weight_semantic").fill("0")
    expect(page.locator("#summary")).to_contain_text("Against the start")
    settle(page)
    moved = page.url
    page.context.clear_cookies(name="sessionid")
    number_input(page, "rrf_k").fill("50")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.locator("#answer").count() == 0
    sign_in(page)
    expect(page).to_have_url(moved)
    expect(page.locator("#summary")).to_contain_text("Against the start")
    settle(page)


def test_why_not_leads_to_the_change_that_brings_it_in_and_that_is_saved(lab_world: Namespace, page: Page) -> None:
    run_query(page)
    missed = "The kitchen at Arrive has a new oven"
    expect(page.locator(".hits")).not_to_contain_text(missed)
    settle(page)
    page.get_by_label("Memory text").fill("a new oven in the kitchen")
    page.get_by_role("button", name="Find", exact=True).click()
    settle(page)
    page.locator("#why-not").get_by_role("link", name=missed).click()
    settle(page)
    page.locator("#why-not .fix").get_by_role("link", name="Apply").click()
    expect(page.locator(".hits")).to_contain_text(missed)
    settle(page)
    page.get_by_text("Save as profile").click()
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Saved as mine@1.")
    expect(page.locator(".hits")).to_contain_text(missed)
    settle(page)
    page.get_by_role("link", name="mine@1").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mine@1")


def test_a_slow_panel_neither_takes_a_slider_back_nor_loses_what_was_chosen(lab_world: Namespace, page: Page) -> None:
    run_query(page)
    settle(page)
    late: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.headers.get("hx-target") == "why-not" and not late:
            late.append(route)
        else:
            route.continue_()

    page.route("**/lab/**", hold)
    chosen = page.locator("#why-not .near a").first
    words = chosen.inner_text()
    chosen.click()
    slider = page.locator("#p-weight_semantic")
    slider.focus()
    slider.press("PageDown")
    moved = number_input(page, "weight_semantic").last.input_value()
    expect(page).to_have_url(re.compile(rf"p\.weight_semantic={re.escape(moved)}(&|$)"))
    late[0].continue_()
    settle(page)
    expect(page).to_have_url(re.compile(rf"missing=.*p\.weight_semantic={re.escape(moved)}(&|$)"))
    expect(page.locator("#why-not .lead")).to_have_text(words)
    assert number_input(page, "weight_semantic").first.input_value() == moved  # the state that the panel shows


def test_a_trace_opens_in_the_lab_as_it_was_and_on_a_phone_the_sliders_fold_away(
    lab_world: Namespace, page: Page
) -> None:
    run_query(page)
    start = hit_ids(page)
    page.goto("/lab-world/traces/")
    page.get_by_role("link", name=f"Open “{QUESTION}” in the Lab").click()
    expect(page.locator("#summary")).to_contain_text("Replayed from trace")
    assert hit_ids(page) == start
    fold = page.locator(".rail > .fold > summary")
    expect(fold).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator("#params")).to_be_visible()
    fold.click()
    expect(page.locator("#params")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("#params")).to_be_visible()
    settle(page)


@pytest.mark.parametrize("letters", ["long ", "日本", "\U0001f600 "])
def test_a_query_of_ten_thousand_characters_runs_and_its_address_stays_short(
    page: Page, lab_world: Namespace, letters: str
) -> None:
    query = (letters * 10_000)[:9_999] + "."
    page.goto("/lab-world/lab/")
    sign_in(page)
    for _ in range(2):
        page.locator("#q").fill(query)
        page.get_by_role("button", name="Run").click()
        page.wait_for_url("**trace=**")
        expect(page.locator("#summary")).to_contain_text("Replayed from trace")
        assert len(page.url) < 1_000
        expect(page.locator("#q")).to_have_value(query)
    page.locator("[data-param=rrf_k] [type=range], [data-param=abstain_below] [type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert len(page.url) < 1_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
