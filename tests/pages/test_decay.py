"""The Decay page."""

import json
import re
from datetime import timedelta
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.models import Membership, Memory, Namespace
from memories.models.choices import Role
from memories.pages import chart_parts
from memories.pages.decay import curves, memory_ages, views
from memories.tuning import profile_publication, profile_versions
from scoring.systems import SYSTEMS
from scoring.systems.recall import RecallParams
from tests.support.rows import row

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """A namespace of three memories, and somebody who may read it signed in."""
    namespace = Namespace.objects.create(slug="here", title="Here")
    user = User.objects.create_user("ada")
    Membership.objects.create(namespace=namespace, user=user, role=Role.READ)
    client.force_login(user)
    for age, type, kind in ((10, "Event", "episodic"), (90, "Preference", "semantic"), (400, "Fact", "general")):
        created = namespace.now - timedelta(days=age)
        row(Memory, namespace, content=f"{type} told {age} days ago", type=type, kind=kind, created_at=created)
    return namespace


def figure(page: str) -> Any:
    """The chart of a page."""
    found = re.search(r'<script id="fig-decay" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def get_page(client: Client, **asked: str) -> str:
    """The page at an address, its whitespace collapsed as a browser does."""
    response = client.get("/here/decay/", asked)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.mark.parametrize("system", curves.FAMILIES)
def test_every_curve_halves_where_it_says(system: str) -> None:
    family, params = curves.FAMILIES[system], SYSTEMS[system].params()
    for curve in family.curves:
        halves = family.half_life(curve, params)
        assert family.freshness(np.array([0.0, halves]), curve, params) == pytest.approx([1.0, 0.5], abs=1e-6)


def test_memories_lie_on_their_curves(client: Client, namespace: Namespace) -> None:
    dots = [one for one in figure(get_page(client))["data"] if one["mode"] == "markers"]
    placed = {text: (x, y) for one in dots for text, x, y in zip(one["hovertext"], one["x"], one["y"], strict=True)}
    assert placed["Preference told 90 days ago"] == pytest.approx((90, 0.5), abs=0.01)
    assert placed["Event told 10 days ago"] == pytest.approx((10, 2 ** (-10 / 30)), abs=0.01)


def test_a_moved_half_life_moves_its_curve_and_leaves_a_dotted_one(client: Client, namespace: Namespace) -> None:
    page = get_page(client, **{"p.half_life_preference": "180"})
    assert sum(one.get("line", {}).get("dash") == "dot" for one in figure(page)["data"]) == 1
    assert "1 changed" in page
    (x, y), *_ = [
        (x, y)
        for one in figure(page)["data"]
        if one["mode"] == "markers"
        for text, x, y in zip(one["hovertext"], one["x"], one["y"], strict=True)
        if text.startswith("Preference")
    ]
    assert (x, y) == pytest.approx((90, 2**-0.5), abs=0.01)


def test_it_tells_who_reaches_the_floor_by_a_day(client: Client, namespace: Namespace) -> None:
    until = 30 * np.log2(1 / RecallParams().freshness_floor)  # an event's last day above the floor, some hundred
    before, after = (namespace.now + timedelta(days=float(until) - 10 + more) for more in (-2, 2))
    assert "Event told" not in get_page(client, by=f"{before:%Y-%m-%d}").split("fades-h", 1)[1]
    page = get_page(client, by=f"{after:%Y-%m-%d}")
    assert "Event told 10 days ago" in page
    assert "1 reaches .1 by" in page


def test_it_starts_from_what_serves_where_that_has_such_parameters(client: Client, namespace: Namespace) -> None:
    assert "from blend, the system's defaults" in get_page(client)
    moved = {"half_life_event": 14.0, "rrf_k": 30.0}
    version = profile_versions.add_profile_version(
        namespace, name="mine", system="recall", params=moved, parent=None, note="", by="ada"
    )
    profile_publication.publish_profile(namespace, version, by="ada", override="nobody has judged anything here")
    page = get_page(client)
    assert "Event halves in 14 days" in page
    assert "from mine@1, which is served" in page
    assert "param changed" not in page
    assert "Event halves in 30 days" in get_page(client, **{"p.half_life_event": "30"})
    assert "from contextdb, the system's defaults" in get_page(client, system="contextdb")


def test_the_first_to_fade_stands_first_however_long_it_is_stored(client: Client, namespace: Namespace) -> None:
    # A fact reaches the floor of .1 after 598 days, an event after 100.
    for age, type in [(590, "Fact")] * views.MAX_LISTED + [(95, "Event")]:
        row(Memory, namespace, content=f"{type} of {age}", type=type, created_at=namespace.now - timedelta(days=age))
    told = re.findall(r"(\w+) of \d+</a>", get_page(client).split("fades-h", 1)[1])
    assert told == ["Event"] + ["Fact"] * (views.MAX_LISTED - 1)


@pytest.mark.parametrize("system", curves.FAMILIES)
def test_no_name_of_a_curve_stands_upon_another(client: Client, namespace: Namespace, system: str) -> None:
    names = [curve.name for curve in curves.FAMILIES[system].curves]
    notes = [one for one in figure(get_page(client, system=system))["layout"]["annotations"] if one["text"] in names]
    assert len(notes) == len(names)
    for one, other in combinations(notes, 2):
        assert abs(one["x"] - other["x"]) > 0.15 or abs(one["y"] - other["y"]) > 0.05


def test_names_of_lines_that_end_together_stand_around_where_they_end() -> None:
    assert chart_parts.spread_labels([0.9, 0.3], 0.1) == [0.9, 0.3]
    assert chart_parts.spread_labels([0.5, 0.9, 0.5, 0.5], 0.1) == pytest.approx([0.6, 0.9, 0.5, 0.4])
    assert chart_parts.spread_labels([0.0, 0.02], 0.1) == pytest.approx([0.0, 0.1])


def test_many_are_counted_together(client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_ages, "MAX_POINTS", 2)
    for age in (20, 20, 21, 300):
        row(Memory, namespace, type="Event", created_at=namespace.now - timedelta(days=age))
    page = get_page(client)
    assert "those of similar age as one dot" in page
    sizes = [text for one in figure(page)["data"] if one["mode"] == "markers" for text in one["hovertext"]]
    assert any(text.startswith("3 memories, ") for text in sizes)
    assert "7 memories on the curves" in page


def test_one_of_many_counts_from_when_it_holds(
    client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_ages, "MAX_POINTS", 1)
    since = namespace.now - timedelta(days=700)
    row(Memory, namespace, kind="semantic", created_at=namespace.now, valid_from=since)
    page = get_page(client, system="contextdb")
    (marks,) = [one for one in figure(page)["data"] if one["mode"] == "markers" and max(one["x"]) > 650]
    assert any(text.startswith("1 memory, ") for text in marks["hovertext"])


def test_what_is_valid_from_another_day_fades_from_then(client: Client, namespace: Namespace) -> None:
    row(
        Memory,
        namespace,
        kind="semantic",
        content="holds later",
        created_at=namespace.now - timedelta(days=90),
        valid_from=namespace.now,
    )
    assert "holds later" in get_page(client, system="contextdb")


@pytest.mark.parametrize("asked", [{"p.half_life_fact": "-5"}, {"p.half_life_fact": "soon"}, {"by": "tomorrow"}])
def test_a_wrong_value_is_reported_with_what_is_allowed(
    client: Client, namespace: Namespace, asked: dict[str, str]
) -> None:
    page = get_page(client, **asked)
    assert "Some values in the URL are invalid" in page
    assert next(iter(asked.values())) in page


def test_an_empty_namespace_shows_the_curves_alone(client: Client, namespace: Namespace) -> None:
    Memory.objects.within(namespace).delete()
    page = get_page(client)
    assert "No memories yet" in page
    assert len(figure(page)["data"]) == len(curves.FAMILIES["recall"].curves)


@pytest.mark.parametrize("system", curves.FAMILIES)
def test_it_runs_a_fixed_number_of_sql_queries(
    client: Client, namespace: Namespace, system: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(10):
        get_page(client, system=system)


def test_htmx_gets_the_part_that_changes(client: Client, namespace: Namespace) -> None:
    part = client.get("/here/decay/", headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<div class="stack" id="shown"')
    assert "<html" not in part


def test_to_others_it_does_not_exist(client: Client, namespace: Namespace) -> None:
    client.force_login(User.objects.create_user("eve"))
    assert client.get("/here/decay/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_half_life_is_dragged_and_the_page_follows(page: Page, client: Client) -> None:
    namespace = Namespace.objects.create(slug="here", title="Here")
    user = User.objects.create_user("ada", password="a long password")
    Membership.objects.create(namespace=namespace, user=user, role=Role.READ)
    row(Memory, namespace, content="Old habit", type="Preference", created_at=namespace.now - timedelta(days=100))
    page.goto("/sign-in/?next=/here/decay/")
    page.fill("input[name=username]", "ada")
    page.fill("input[name=password]", "a long password")
    page.press("input[name=password]", "Enter")
    expect(page.locator("#curves-h")).to_have_text("Event halves in 30 days, Entity in 365 days")
    expect(page.locator("[data-figure] .main-svg").first).to_be_visible()
    page.locator("#p-half_life_event").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#curves-h")).to_have_text("Event halves in 27 days, Entity in 365 days")
    expect(page.locator(".param.changed")).to_have_count(1)
    page.wait_for_url("**/here/decay/?system=recall&p.half_life_event=27")
    page.reload()
    expect(page.locator("#p-half_life_event")).to_have_value("27")
    page.locator(".param.changed .reset").click()
    expect(page.locator("#curves-h")).to_have_text("Event halves in 30 days, Entity in 365 days")
    expect(page.locator("[data-figure] .main-svg").first).to_be_visible()
