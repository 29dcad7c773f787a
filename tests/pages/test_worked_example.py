"""The Worked example page: ten steps from a stored memory, and the button that stores it."""

import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from memories.contracts.new_memory import NewMemory
from memories.models import DailyAccess, Membership, Memory, Namespace
from memories.models.choices import Role
from memories.pages.worked_example.example_memory import StoredExample, load_example, store_example
from memories.retrieval.access_counts import record_access
from memories.retrieval.retrieve import retrieve
from memories.writing.feedback import confirm_memory
from memories.writing.remember import remember
from scoring.catalogue.worked_example import EXAMPLE_CONTENT, EXAMPLE_QUERY, worked_steps
from tests.support.access import member_of
from tests.support.markup import collapse_whitespace
from tests.support.retrieval_world import NOW, answer_to_dict, make_query, store_world
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db

GOLDEN: dict[str, list[str]] = json.loads((Path(__file__).parents[1] / "scoring/worked_example.json").read_text())
STEP = re.compile(r'<li class="panel" id="step-(\d+)".*?</table>', re.DOTALL)
ROW = re.compile(r'<td>([^<]*)</td><td class="num">(.*?)</td><td class="num"><b>(.*?)</b></td><td>(.*?)</td>')


@pytest.fixture
def namespace(db: None) -> Namespace:
    """The small world, ninety days after the example will have been said."""
    return store_world("desk")


def get_page(client: Client, slug: str = "desk") -> str:
    response = client.get(f"/{slug}/worked-example/")
    assert response.status_code == 200
    return collapse_whitespace(response.content.decode())


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def step_rows(page: str) -> dict[int, list[tuple[str, str, str, str]]]:
    """Label, paper's number, computed number and verdict of each row, by step."""
    return {
        int(found[1]): [
            (label, plain(paper), here, plain(verdict)) for label, paper, here, verdict in ROW.findall(found[0])
        ]
        for found in STEP.finditer(page)
    }


def stored_example(namespace: Namespace) -> StoredExample:
    memory = Memory.objects.within(namespace).get(content=EXAMPLE_CONTENT)
    return load_example(memory)


def test_the_button_stores_the_example_through_the_write_path(namespace: Namespace) -> None:
    client = member_of(namespace, Role.WRITE)
    assert "The example is not stored here" in get_page(client)
    response = client.post("/desk/worked-example/store/", follow=True)
    assert response.status_code == 200
    memory = Memory.objects.within(namespace).get(content=EXAMPLE_CONTENT)
    assert (memory.source_strength, memory.repetitions, memory.extractor_confidence) == (0.95, 3, 0.80)
    assert (memory.type, memory.access_count) == ("Preference", 4)
    assert namespace.now - memory.created_at == timedelta(days=90)
    assert memory.confidence == pytest.approx(float(GOLDEN["Confidence computation"][-1]), abs=1e-9)
    again = client.post("/desk/worked-example/store/", follow=True).content.decode()
    assert "Nothing was stored: the example is here already." in again
    assert Memory.objects.within(namespace).filter(content=EXAMPLE_CONTENT).count() == 1


def test_every_number_comes_from_the_stored_memory_and_is_the_golden_one(namespace: Namespace) -> None:
    store_example(namespace, by="test")
    example = stored_example(namespace)
    steps = worked_steps(example.worked)
    assert [step.title for step in steps] == list(GOLDEN)
    for step in steps[:-1]:
        computed = [number.computed for number in step.numbers]
        assert computed == pytest.approx(list(map(float, GOLDEN[step.title])), rel=0, abs=1e-9)
    assert all(entry.same for entry in example.inputs)
    assert example.worked.is_included


def test_the_page_shows_each_number_beside_the_papers_and_the_errata(namespace: Namespace) -> None:
    store_example(namespace, by="test")
    page = get_page(member_of(namespace, Role.READ))
    rows = step_rows(page)
    assert sorted(rows) == list(range(1, 11))
    assert ("r(n)", "0.581", ".581", "✓ reproduced") in rows[2]
    assert ("confidence", "0.8187", ".8187", "✓ reproduced") in rows[5]
    assert rows[6] == [("freshness", "0.50", ".50", "✓ reproduced")]
    assert ("access boost", "2.609", "2.609", "✓ reproduced") in rows[7]
    assert ("RRF", "0.03226", ".032266", "erratum the unrounded parts add up to .032266") in rows[8]
    assert ("weight", "0.04213", ".042099", "erratum unrounded factors give .04210") in rows[9]
    assert "n counts re-observations and is 0 at the first mention" in plain(page)
    assert '"type": "Preference"' in unescape(page)
    assert f"{stored_example(namespace).candidates} candidates" in plain(page)
    for address in set(re.findall(r'href="(/formulas/recall/#[\w-]+)"', page)):
        assert f'id="{address.partition("#")[2]}"' in member_of(namespace).get(address).content.decode()


def test_its_place_is_that_of_its_weight_among_the_live_candidates(namespace: Namespace) -> None:
    store_example(namespace, by="test")
    Memory.objects.within(namespace).filter(content__startswith="Invoicing stores").update(access_count=5_000)
    DailyAccess.objects.create(
        namespace=namespace,
        memory=Memory.objects.within(namespace).get(content__startswith="Invoicing stores"),
        day=NOW.date(),
        count=5_000,
    )
    example = stored_example(namespace)
    live = answer_to_dict(retrieve(make_query(namespace, EXAMPLE_QUERY, top_k=50, as_of=example.as_of)))
    others = [result["score"] for result in live["results"] if result["content"] != EXAMPLE_CONTENT]
    heavier = sum(score > float(GOLDEN["Final retrieval weight"][1]) for score in others)
    assert example.worked.place == 1 + heavier
    assert heavier > 0


def test_what_happened_to_the_memory_since_is_said(namespace: Namespace) -> None:
    memory = store_example(namespace, by="test")
    confirm_memory(namespace, memory.id, by="test")
    page = plain(get_page(member_of(namespace)))
    assert "This memory has changed since" in page
    assert "n, observations after the first 4 instead of 3" in page
    assert "differs" in page


def test_accesses_after_the_ninety_days_do_not_count(namespace: Namespace) -> None:
    memory = store_example(namespace, by="test")
    Namespace.objects.filter(id=namespace.id).update(clock=NOW + timedelta(days=30))
    later = Namespace.objects.get(id=namespace.id)
    record_access(make_query(later, EXAMPLE_QUERY), [memory.id])
    stored = Memory.objects.get(namespace=later, id=memory.id)
    assert stored.access_count == 5
    assert all(entry.same for entry in load_example(stored).inputs)


def test_a_namespace_that_says_the_same_already_keeps_its_own_memory(namespace: Namespace) -> None:
    said = "Uses PostgreSQL for new projects; the team standard since joining Arrive in 2024"
    remember(namespace, [NewMemory(content=said, type="Preference", session="own")], by="test")
    page = member_of(namespace).post("/desk/worked-example/store/", follow=True).content.decode()
    assert "It was merged into" in page
    assert "The example is not stored here" in page


def test_who_may_only_read_is_led_to_where_they_may_write(namespace: Namespace) -> None:
    reader = member_of(namespace, Role.READ)
    other = Namespace.objects.create(slug="mine", title="Mine")
    user = User.objects.get(memberships__namespace=namespace, memberships__role=Role.READ)
    Membership.objects.create(namespace=other, user=user, role=Role.WRITE)
    page = get_page(reader)
    assert "Storing needs the role write" in page
    assert 'href="/mine/worked-example/"' in page
    assert "<button" not in page.partition('id="missing-h"')[2].partition("</section>")[0]
    assert reader.post("/desk/worked-example/store/").status_code == 403
    assert member_of(other).get("/desk/worked-example/").status_code == 404


def test_a_person_stores_the_example_and_reads_it_in_an_empty_namespace(transactional_db: None, page: Page) -> None:
    namespace = Namespace.objects.create(slug="empty", title="Empty")
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(namespace=namespace, user=user, role="write")
    sign_in(page)
    page.goto("/empty/worked-example/")
    page.get_by_role("button", name="Store the example in empty").click()
    expect(page.locator(".steps > li")).to_have_count(10)
    expect(page.locator("#step-9")).to_contain_text(".042099")
    expect(page.locator("#step-10")).to_contain_text("Here within the cut and above the floor, so it is included.")
    page.locator("#step-9 li summary", has_text="freshness").click()
    expect(page.locator("#step-9 .tree")).to_contain_text("freshness floor")
