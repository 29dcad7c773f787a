"""The Graph page: chart and table of entities."""

import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import find
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.models import Entity, EntityEdge, Membership, Memory, Mention, Namespace
from memories.models.choices import Role, Status
from memories.pages.graph import edge_list
from memories.pages.graph import views as graph_views
from memories.pages.graph.charts import SHADES
from memories.pages.graph.graph_layout import HEIGHT, WIDTH, whole_graph_positions
from memories.pages.graph.svg_labels import label_box, place_labels
from scoring.graph import ReachedEntity, traverse
from scoring.systems.recall import RecallParams
from tests.support.rows import add_alias, row

pytestmark = pytest.mark.django_db

PARAMS = RecallParams()
HOPS = (PARAMS.hop_1, PARAMS.hop_2, PARAMS.hop_3)
TOLD = (
    ("Maya", "works_at", "Arrive", 0.9),
    ("Arrive", "located_in", "Berlin", 0.8),
    ("Berlin", "part_of", "Germany", 0.95),
    ("Maya", "visited", "Berlin", 0.3),
    ("Priya", "works_at", "Arrive", 0.7),
    ("Priya", "owns", "Cat", 0.6),
    ("Cat", "fears", "Dog", 1.0),
)


def world() -> Namespace:
    """A namespace that one may read, and somebody who may."""
    namespace = Namespace.objects.create(slug="here", title="Here")
    user = User.objects.create_user("ada", password="a long password")
    Membership.objects.create(namespace=namespace, user=user, role=Role.READ)
    return namespace


def store_edges(namespace: Namespace, told: Iterable[tuple[str, str, str, float]]) -> None:
    """Store edges between entities that are made as they are named."""
    for source, predicate, target, confidence in told:
        ends = [Entity.objects.get_or_create(namespace=namespace, name=one, normalised=one.lower())[0]
                for one in (source, target)]  # fmt: skip
        row(EntityEdge, namespace, source=ends[0], target=ends[1], predicate=predicate, confidence=confidence)


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """A namespace of seven edges, and somebody who may read it signed in."""
    namespace = world()
    store_edges(namespace, TOLD)
    client.force_login(User.objects.get(username="ada"))
    return namespace


def get_page(client: Client, **asked: str) -> str:
    """The page at an address."""
    response = client.get("/here/graph/", asked)
    assert response.status_code == 200
    return unescape(response.content.decode())


def plain(page: str) -> str:
    """A page without its markup, each run of space as one."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def reached_of(page: str) -> dict[str, ReachedEntity]:
    """What the table says is reached."""
    table = page.split('id="reached"', 1)[1].split("</table>", 1)[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", one, re.DOTALL) for one in table.split("<tr")[2:]]
    cells = [
        [re.sub(r"<span class=\"narrow-word\">.*?</span>|<[^>]*>", "", cell).strip() for cell in one] for one in rows
    ]
    return {one[0]: ReachedEntity(int(one[2]), float(one[3]), float(one[4])) for one in cells}


def by_formula(
    told: Iterable[tuple[str, str, str, float]], root: str, hops: Iterable[float] = HOPS
) -> dict[str, ReachedEntity]:
    """What the formula reaches over the same edges."""
    told = list(told)
    numbers = {name: number for number, name in enumerate(sorted({end for one in told for end in (one[0], one[2])}))}
    found = traverse(
        [(numbers[source], numbers[target], sure) for source, _, target, sure in told], [numbers[root]], tuple(hops)
    )
    names = {number: name for name, number in numbers.items()}
    return {names[number]: one for number, one in found.items()}


@pytest.mark.parametrize("root", ["Maya", "Berlin", "Cat"])
def test_what_is_reached_is_what_the_formula_reaches(client: Client, namespace: Namespace, root: str) -> None:
    told, right = reached_of(get_page(client, entity=root)), by_formula(TOLD, root)
    assert told.keys() == right.keys()
    for name, one in told.items():
        assert one == pytest.approx(right[name], abs=5e-3)
        assert one.score == pytest.approx(right[name].score, abs=5e-5)
    assert [one.score for one in told.values()] == sorted((one.score for one in told.values()), reverse=True)


def test_moved_hop_scores_count_as_the_formula_counts_them(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Maya", **{"p.hop_2": "0.2", "p.max_hops": "2"})
    right = by_formula(TOLD, "Maya", (PARAMS.hop_1, 0.2))
    assert {name: one.hops for name, one in reached_of(page).items()} == {name: one.hops for name, one in right.items()}
    assert right["Berlin"].hops == 1  # though two hops are surer
    assert "2 values changed" in page


def test_edges_are_walked_as_long_as_their_memory_stands(client: Client, namespace: Namespace) -> None:
    memory = row(Memory, namespace, content="Cat sleeps in Berlin", status=Status.ACTIVE)
    cat, berlin = (Entity.objects.get(name=name) for name in ("Cat", "Berlin"))
    row(EntityEdge, namespace, source=cat, target=berlin, predicate="sleeps_in", confidence=0.5, memory=memory)
    page = get_page(client, entity="Cat")
    assert "Cat sleeps in Berlin" in page
    assert reached_of(page)["Berlin"].hops == 1
    Memory.objects.within(namespace).update(status=Status.ARCHIVED)
    assert "Berlin" not in {name for name, one in reached_of(get_page(client, entity="Cat")).items() if one.hops == 1}


def test_a_path_is_reported_in_words_with_its_weakest_edge(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Maya", to="Berlin")
    assert "Maya —works at→ Arrive —located in→ Berlin .80, weakest edge: located in." in plain(page)
    assert f"Score: .6 × .80 = {0.6 * 0.8:.4f}".replace("0.", ".") in plain(page)
    drawn = page.split('<g class="path">', 1)[1].split("</g>", 1)[0]
    assert drawn.count('class="under"') == 2
    assert drawn.count('class="weakest"') == 1


def test_an_edge_may_be_walked_backwards(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Maya", to=str(Entity.objects.get(name="Priya").id))
    assert "Maya —works at→ Arrive ←works at— Priya .70, weakest edge: works at." in plain(page)


def test_a_hop_has_the_tone_of_its_score(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Maya", **{"p.hop_2": "0.9"})
    tones = {name: tone for tone, name in re.findall(r'class="(h\d+)" transform="[^"]*"><g><title>(\w+)', page)}
    assert tones == {"Arrive": "h20", "Berlin": "h18", "Priya": "h18", "Germany": "h7", "Cat": "h7"}
    css = Path(find("graph.css") or "").read_text()
    assert all(f".h{step} {{" in css for step in range(SHADES + 1))


def test_kinds_and_confidence_narrow_the_edges(client: Client, namespace: Namespace) -> None:
    page = get_page(client, predicate="works_at")
    assert "3 entities, 2 edges" in page
    assert re.search(r"works at\s*<b>2</b>", page)
    assert "7 entities" not in page
    page = get_page(client, entity="Maya", **{"p.least_confidence": "0.85"})
    right = by_formula([one for one in TOLD if one[3] >= 0.85], "Maya")
    assert reached_of(page).keys() == right.keys()


def test_an_entity_is_found_by_another_name_and_by_its_id(client: Client, namespace: Namespace) -> None:
    maya = Entity.objects.get(name="Maya")
    add_alias(maya, "Mrs Lindqvist")
    for text in ("mrs  LINDQVIST", "maya", str(maya.id)):
        page = get_page(client, entity=text)
        assert "From Maya: " in page
        assert "Mrs Lindqvist" in page


def test_a_name_that_nobody_has_brings_those_near_to_it(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Mayya")
    assert "No entity is called “Mayya”." in page
    notice = page.split('class="notice"', 1)[1].split("</p>", 1)[0]
    assert ">Maya</a>" in notice
    assert 'value="Mayya"' in page
    assert "No name is similar to it" in get_page(client, entity="00000000-0000-7000-8000-000000000000")


def test_one_that_is_not_reached_is_reported_so(client: Client, namespace: Namespace) -> None:
    page = get_page(client, entity="Maya", to="Dog")
    assert "Dog is not reached from Maya within 3 hops over these edges." in page
    assert "“Nessie”, so no path is shown" in get_page(client, entity="Maya", to="Nessie")


def test_an_entity_is_reported_with_its_memories(client: Client, namespace: Namespace) -> None:
    maya = Entity.objects.get(name="Maya")
    about = row(Memory, namespace, content="Maya likes tea", status=Status.ACTIVE, level="fact", subject=maya)
    row(Mention, namespace, memory=about, entity=maya)
    page = get_page(client, entity="Maya")
    assert "Maya likes tea" in page
    assert f"/here/memories/?entity={maya.id}" in page
    assert "/here/lab/?query=What%20do%20we%20know%20about%20Maya%3F" in page
    assert re.search(r"<dd><a [^>]*>1 memory</a>", page)


def test_no_edges_say_what_makes_them(client: Client, namespace: Namespace) -> None:
    EntityEdge.objects.within(namespace).delete()
    page = get_page(client)
    assert "No edges yet" in page
    assert "POST /api/v1/here/memories/" in page
    assert "Nothing is reached" in get_page(client, entity="Maya")


def crowd(namespace: Namespace, edges: int) -> None:
    """Many edges among a third as many entities."""
    some = [Entity(namespace=namespace, name=f"One {n}", normalised=f"one {n}") for n in range(edges // 3)]
    Entity.objects.bulk_create(some)
    EntityEdge.objects.bulk_create(
        EntityEdge(
            namespace=namespace,
            source=some[n % len(some)],
            target=some[(n * n + n // len(some) + 1) % len(some)],
            predicate=f"kind_{n % 20}",
            confidence=1 - (n % 50) / 100,
        )
        for n in range(edges)
        if n % len(some) != (n * n + n // len(some) + 1) % len(some)
    )


def test_of_very_many_edges_two_thousand_are_drawn_and_the_page_says_so(client: Client, namespace: Namespace) -> None:
    crowd(namespace, 2_400)
    total = EntityEdge.objects.within(namespace).count()
    page = get_page(client)
    assert page.count("<path data-e=") == graph_views.MAX_DRAWN < total
    assert f"The {graph_views.MAX_DRAWN:,} edges between the best connected are drawn, of {total:,}." in page
    assert f"1 to 15 of {graph_views.MAX_DRAWN:,}" in page
    names = re.findall(r"<text class=\"z1\"", page)
    assert 20 < len(names) < 200


def test_reading_ends_somewhere_and_the_page_says_so(
    client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_list, "MAX_READ", 5)
    monkeypatch.setattr(graph_views, "MAX_DRAWN", 4)
    assert "The 4 edges between the best connected are drawn, of the newest 5." in get_page(client)
    assert "edges around were read, so there may be better paths" in get_page(client, entity="Arrive")


@pytest.mark.parametrize("count", [2, 60, 900])
def test_a_picture_is_the_same_each_time_and_stays_in_its_frame(count: int) -> None:
    ends = np.array([(n, n * n // (2 * count)) for n in range(1, count)])
    places = whole_graph_positions(count, ends)
    assert np.array_equal(places, whole_graph_positions(count, ends))
    assert (places >= 0).all()
    assert (places <= (WIDTH, HEIGHT)).all()
    assert len(np.unique(places.round(1), axis=0)) > 0.9 * count


def test_names_in_a_picture_do_not_lie_on_each_other() -> None:
    ends = np.array([(n, n // 3) for n in range(1, 300)])
    places, names = whole_graph_positions(300, ends), [f"Somebody {n}" for n in range(300)]
    chosen = place_labels(places, np.full(300, 3.0), names, (WIDTH, HEIGHT), [])
    boxes = sorted(label_box(places[one], label, names[one]) for one, label in chosen.items() if label.zoom == 1)
    assert len(boxes) > 30
    for place, (_, top, right, bottom) in enumerate(boxes):
        assert not any(left < right and up < bottom and down > top for left, up, _, down in boxes[place + 1 :])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"p.hop_2": "5"}, "must be a number from 0 to 1; got 5"),
        ({"p.least_confidence": "much"}, "must be a number from 0 to 1; got 'much'"),
        ({"p.unheard": "1"}, "unheard"),
    ],
)
def test_a_wrong_value_is_reported_with_what_is_allowed(
    client: Client, namespace: Namespace, asked: dict[str, str], says: str
) -> None:
    page = get_page(client, entity="Maya", **asked)
    assert "Some values in the URL are invalid" in page
    assert says in page
    assert "From Maya: " in page


def test_pages_of_edges_hold_them_all_once(client: Client, namespace: Namespace) -> None:
    crowd(namespace, 60)
    total = EntityEdge.objects.within(namespace).count()
    seen = [one for number in range(1, -(-total // 15) + 1) for one in edge_rows(get_page(client, page=str(number)))]
    assert len(seen) == total
    assert edge_rows(get_page(client, page="999")) == seen[-(total % 15 or 15) :]


def edge_rows(page: str) -> list[tuple[str, str]]:
    """The edges that a page of the table names, with how sure they are."""
    table = page.split('id="edges"', 1)[1].split("</table>", 1)[0]
    return re.findall(r"<tr>\s*<td>(.*?)</td>\s*<td class=\"num\">(.*?)</td>", table, re.DOTALL)


@pytest.mark.parametrize("asked", [{}, {"entity": "Maya"}, {"entity": "Maya", "to": "Germany"}, {"entity": "Nobody"}])
def test_it_runs_a_fixed_number_of_sql_queries(
    client: Client,
    namespace: Namespace,
    asked: dict[str, str],
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    crowd(namespace, 100)
    with django_assert_max_num_queries(18):
        get_page(client, **asked)


def test_htmx_gets_the_part_that_changes_and_the_address(client: Client, namespace: Namespace) -> None:
    asked = {"entity": "Maya", "p.hop_1": "1", "p.hop_2": "0.5", "p.max_hops": "3", "p.least_confidence": "0"}
    response = client.get("/here/graph/", asked, headers={"HX-Request": "true"})
    part = response.content.decode()
    assert part.lstrip().startswith('<div class="stack" id="shown"')
    assert "<html" not in part
    assert response["HX-Replace-Url"] == "?entity=Maya&p.hop_2=0.5"


def test_to_others_it_does_not_exist(client: Client, namespace: Namespace) -> None:
    other = Namespace.objects.create(slug="there", title="There")
    store_edges(other, [("Secret", "hides", "Treasure", 1.0)])
    assert "No entity is called “Secret”" in get_page(client, entity="Secret")
    assert "No entity is called" in get_page(client, entity=str(Entity.objects.get(name="Secret").id))
    client.force_login(User.objects.create_user("eve"))
    assert client.get("/here/graph/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_one_walks_from_an_entity_moves_a_hop_and_sees_a_path(page: Page) -> None:
    store_edges(world(), TOLD)
    page.goto("/sign-in/?next=/here/graph/")
    page.fill("input[name=username]", "ada")
    page.fill("input[name=password]", "a long password")
    page.press("input[name=password]", "Enter")
    expect(page.locator("#graph-h")).to_have_text("7 entities, 7 edges")
    page.fill("#entity", "maya")
    page.press("#entity", "Enter")
    page.wait_for_url("**/here/graph/?entity=maya")
    expect(page.locator("#graph-h")).to_have_text("From Maya: 1 in 1 hop, 2 in 2 hops, 2 in 3 hops")
    order = page.locator("#reached tbody tr td:first-child")
    expect(order).to_have_text(["Arrive", "Berlin", "Priya", "Germany", "Cat"])
    dot = page.locator(".dots a", has=page.locator("title", has_text="Berlin"))
    tone = "element => getComputedStyle(element.querySelector('circle, rect')).fill"
    before = dot.evaluate(tone)
    slider = page.locator("#p-hop_2")
    slider.focus()
    for _ in range(50):
        page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/here/graph/?entity=maya&p.hop_2=0.1")
    expect(order).to_have_text(["Arrive", "Berlin", "Germany", "Cat", "Priya"])
    expect(page.locator("#graph-h")).to_have_text("From Maya: 2 in 1 hop, 3 in 3 hops")
    assert dot.evaluate(tone) != before
    page.locator(".param.changed .reset").click()
    expect(order).to_have_text(["Arrive", "Berlin", "Priya", "Germany", "Cat"])
    assert dot.evaluate(tone) == before
    page.locator(".dots a", has=page.locator("title", has_text="Germany")).locator("path").click()
    expect(page.locator("#path")).to_contain_text("Maya —works at→ Arrive —located in→ Berlin —part of→ Germany .80")
    expect(page.locator("#path")).to_contain_text("weakest edge: located in")
    expect(page.locator(".graph .path .under")).to_have_count(3)
    page.wait_for_url("**/here/graph/?entity=maya&to=*")
    page.reload()
    expect(page.locator("#path")).to_contain_text("weakest edge: located in")
    page.locator("[data-zoom='1.5']").click()
    expect(page.locator(".graph")).not_to_have_attribute("viewBox", "0 0 800 560")
    page.locator(".graph").focus()
    page.keyboard.press("0")
    expect(page.locator(".graph")).to_have_attribute("viewBox", "0 0 800 560")
    dot.locator("rect").hover()
    expect(page.locator(".notes .for-now")).to_have_count(3)
    page.locator("#path a").click()
    expect(page.locator("#graph-h")).to_contain_text("From Germany: ")
