"""Memories as a person browses them: filters, facets, search, pages, and acts on many."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Entity, Membership, Memory, MemoryTag, Namespace, ScoreEvent, Session
from memories.models.choices import Status
from memories.pages.memory_list import facets, filters
from memories.retrieval.fetch import Fetched
from memories.writing.remember import remember

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TOLD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Maya drinks her coffee black", "Preference", {"tags": ("food",), "days": 3, "session": "breakfast"}),
    ("Maya prefers PostgreSQL for every new service", "Preference", {"tags": ("database",), "days": 20}),
    ("Invoicing stores its data in PostgreSQL 16", "Fact", {"tags": ("database", "billing"), "days": 40}),
    ("Jonas left Arrive for a bank in Oslo", "Event", {"days": 200}),
    ("The kitchen might get a new oven", "Fact", {"level": "speculation", "days": 500}),
)


@pytest.fixture
def maya(db: None) -> User:
    return User.objects.create_user("maya", password="tall-ships-7")


@pytest.fixture
def home(maya: User) -> Namespace:
    namespace = Namespace.objects.create(slug="home", title="Maya at home", clock=NOW)
    Membership.objects.create(user=maya, namespace=namespace, role="admin")
    tell(namespace, TOLD)
    return namespace


@pytest.fixture
def signed_in(client: Client, maya: User, home: Namespace) -> Client:
    client.force_login(maya)
    return client


def tell(namespace: Namespace, told: tuple[tuple[str, str, dict[str, Any]], ...]) -> None:
    news = [
        NewMemory(
            content=content,
            type=type,
            utterances=(Utterance(more.get("level", "direct")),),
            model="haiku",
            tags=more.get("tags", ()),
            session=more.get("session", ""),
            created_at=NOW - timedelta(days=more["days"]),
            entities=tuple(name for name in ("Maya", "PostgreSQL") if name in content),
        )
        for content, type, more in told
    ]
    remember(namespace, news, by="tests")


def text(client: Client, address: str = "/home/memories/", status: int = 200) -> str:
    """A page, its whitespace collapsed as a browser does."""
    answer = client.get(address)
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


def contents(page: str) -> list[str]:
    """The memories of the list, in their order."""
    return re.findall(r"data-row>(.*?)</a>", page)


def counts(page: str, title: str) -> dict[str, str]:
    """A facet's values with their counts."""
    (facet,) = re.findall(rf"<summary>{title}</summary>\s*<ul>(.*?)</ul>", page, re.S)
    return dict(re.findall(r'<span>([^<]*)</span><span class="num">([^<]*)</span>', facet))


def test_the_newest_memories_come_first_with_their_numbers(signed_in: Client) -> None:
    page = text(signed_in)
    assert contents(page) == [content for content, _, _ in TOLD]
    assert "<b>5</b> match" in page
    assert re.search(r'<td class="num">3 d</td>\s*<td class="date">27 Feb 2026</td>', page)


def test_facets_count_what_matches(signed_in: Client) -> None:
    page = text(signed_in)
    assert counts(page, "Type") == {"Event": "1", "Fact": "2", "Preference": "2"}
    assert counts(page, "Tag") == {"database": "2", "billing": "1", "food": "1"}
    assert counts(page, "Age") == {
        "up to 7 days": "1",
        "8 to 30 days": "1",
        "31 to 90 days": "1",
        "91 to 365 days": "1",
        "over 365 days": "1",
    }
    assert sum(int(count) for count in counts(page, "Confidence").values()) == 5
    assert counts(page, "Entity")["PostgreSQL"] == "2"
    assert counts(page, "Session") == {"breakfast": "1"}
    assert counts(page, "Status") == {"active": "5"}


def test_a_chosen_value_stands_among_those_it_could_be_changed_for(signed_in: Client) -> None:
    page = text(signed_in, "/home/memories/?type=Preference")
    assert contents(page) == [TOLD[0][0], TOLD[1][0]]
    assert counts(page, "Type") == {"Event": "1", "Fact": "2", "Preference": "2"}
    assert counts(page, "Tag") == {"database": "1", "food": "1"}


def test_every_filter_stands_in_the_address(signed_in: Client, home: Namespace) -> None:
    database = Entity.objects.within(home).get(name="PostgreSQL")
    breakfast = Session.objects.within(home).get(key="breakfast")
    for filter, expected in {
        "tag=database": [1, 2],
        f"entity={database.id}": [1, 2],
        f"session={breakfast.id}": [0],
        "age=older": [4],
        "age=month": [1],
        "confidence=unsure": [4],
        "tag=database&type=Fact": [2],
    }.items():
        assert contents(text(signed_in, f"/home/memories/?{filter}")) == [TOLD[place][0] for place in expected], filter


def test_words_find_the_memories_that_hold_all_of_them(signed_in: Client) -> None:
    assert contents(text(signed_in, "/home/memories/?q=postgresql")) == [TOLD[1][0], TOLD[2][0]]
    assert contents(text(signed_in, "/home/memories/?q=postgresql+services")) == [TOLD[1][0]]
    nothing = text(signed_in, "/home/memories/?q=zebra")
    assert "No memory contains “zebra”." in nothing
    assert "Semantic search" in nothing
    assert contents(text(signed_in, "/home/memories/?q=the&type=Fact")) == []


def test_meaning_finds_other_words_and_records_no_access(signed_in: Client, home: Namespace) -> None:
    page = text(signed_in, "/home/memories/?q=what+does+she+have+for+breakfast&by=semantic")
    assert contents(page)[0] == TOLD[0][0]
    assert "cosine" in page
    assert contents(text(signed_in, "/home/memories/?q=software&by=semantic&type=Fact&age=quarter")) == [TOLD[2][0]]
    assert set(Memory.objects.within(home).values_list("access_count", flat=True)) == {0}


def test_filters_that_choose_among_the_nearest_say_so(signed_in: Client) -> None:
    some = text(signed_in, "/home/memories/?q=software&by=semantic&age=quarter")
    assert re.search(r"<b>\d</b> of the \d nearest pass(es)? these filters", some)
    none = text(signed_in, f"/home/memories/?q=software&by=semantic&session={uuid4()}")
    assert contents(none) == []
    assert "nearest passes these filters." in none
    assert "contains all of these words" not in none
    assert "There is nothing to search semantically under these filters." in text(
        signed_in, "/home/memories/?q=software&by=semantic&tag=nobody+has+it"
    )


def test_pages_follow_each_other_without_a_gap(signed_in: Client, home: Namespace) -> None:
    seen, address = list[str](), "/home/memories/?limit=2"
    for _ in range(3):
        page = text(signed_in, address)
        seen += contents(page)
        address = next(iter(re.findall(r'rel="next" href="http://testserver(.*?)"', page)), "").replace("&amp;", "&")
    assert seen == [content for content, _, _ in TOLD]
    assert address == ""
    (back,) = re.findall(r'rel="prev" href="http://testserver(.*?)"', page)
    assert contents(text(signed_in, back.replace("&amp;", "&"))) == [TOLD[2][0], TOLD[3][0]]


def test_counts_end_somewhere_and_say_so(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets, "MAX_COUNTED", 3)
    monkeypatch.setattr("memories.pages.memory_list.views.MAX_COUNTED", 3)
    page = text(signed_in)
    assert "<b>3+</b> match" in page
    assert counts(page, "Status") == {"active": "3+"}
    assert counts(page, "Type")["Preference"] == "2+"


def test_a_wrong_filter_is_told_with_what_is_allowed(signed_in: Client) -> None:
    page = text(signed_in, "/home/memories/?type=Nonsense&q=coffee", status=400)
    assert "type must be one of Entity, Event, Fact, Preference, Relation; got &quot;Nonsense&quot;" in page
    assert 'value="coffee"' in page
    assert "cursor must be a cursor" in text(signed_in, "/home/memories/?cursor=none", status=400)
    assert "must be active for a search" in text(signed_in, "/home/memories/?q=oven&status=merged", status=400)


def test_htmx_is_shown_what_is_wrong_too(signed_in: Client) -> None:
    answer = signed_in.get("/home/memories/?type=Nonsense", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "type must be one of" in answer.content.decode()


def test_a_search_by_meaning_that_takes_too_long_is_named(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Fetched(timed_out={"semantic": "took longer than 500 ms"})
    monkeypatch.setattr(filters, "fetch", lambda statements, config: slow)
    page = text(signed_in, "/home/memories/?q=breakfast&by=semantic")
    assert "The semantic search was left out: it took longer than 500 ms." in page


def test_an_empty_namespace_says_what_to_do(signed_in: Client, maya: User) -> None:
    empty = Namespace.objects.create(slug="empty", title="Nothing")
    Membership.objects.create(user=maya, namespace=empty)
    assert "There are no memories yet." in text(signed_in, "/empty/memories/")


def test_htmx_gets_the_list_alone_and_history_the_whole_page(signed_in: Client) -> None:
    part = signed_in.get("/home/memories/", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert contents(part)
    whole = signed_in.get("/home/memories/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in whole.content.decode()


def test_many_are_confirmed_and_each_is_told(signed_in: Client, home: Namespace) -> None:
    first, second = Memory.objects.within(home).order_by("-created_at")[:2]
    Memory.objects.within(home).filter(id=second.id).update(status=Status.ARCHIVED, reason="too old")
    answer = signed_in.post("/home/memories/?age=week", {"act": "confirm", "ids": [first.id, second.id]}, follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain == [("/home/memories/?age=week", 302)]
    assert "Confirmed: 1 of 2" in page
    assert f"Memory {second.id} is archived (too old)." in page
    assert ScoreEvent.objects.within(home).get(cause="confirmed").memory_id == first.id
    assert "Confirmed: 1 of 2" not in text(signed_in)


def test_many_are_tagged_and_keep_their_tags(signed_in: Client, home: Namespace) -> None:
    first = Memory.objects.within(home).order_by("-created_at").first()
    assert first
    signed_in.post("/home/memories/", {"act": "tag", "ids": [first.id], "tag": "morning"})
    tags = MemoryTag.objects.within(home).filter(memory_id=first.id).order_by("tag").values_list("tag", flat=True)
    assert list(tags) == ["food", "morning"]
    answer = signed_in.post("/home/memories/", {"act": "tag", "ids": [first.id], "tag": ""})
    assert answer.status_code == 400
    assert "tag must not be empty" in answer.content.decode()


def test_forgetting_asks_first(signed_in: Client, home: Namespace) -> None:
    first = Memory.objects.within(home).order_by("-created_at").first()
    assert first
    asked = signed_in.post("/home/memories/", {"act": "forget", "ids": [first.id]})
    assert "Forget 1 memory?" in asked.content.decode()
    assert Memory.objects.within(home).get(id=first.id).status == Status.ACTIVE
    done = signed_in.post("/home/memories/", {"act": "forget", "ids": [first.id], "sure": "1"}, follow=True)
    assert "Forgotten: 1 of 1" in done.content.decode()
    assert Memory.objects.within(home).get(id=first.id).status == Status.FORGOTTEN


def test_whoever_may_only_read_sees_no_acts_and_is_refused(client: Client, home: Namespace) -> None:
    reader = User.objects.create_user("reader")
    Membership.objects.create(user=reader, namespace=home, role="read")
    client.force_login(reader)
    page = text(client)
    assert contents(page)
    assert 'name="ids"' not in page
    assert not {act for act in ("confirm", "tag", "forget") if f'name="act" value="{act}"' in page}
    first = Memory.objects.within(home).first()
    assert first
    refused = client.post("/home/memories/", {"act": "confirm", "ids": [first.id]})
    assert refused.status_code == 403
    assert "This needs the role write" in refused.content.decode()
    assert "got forgotten" in text(client, "/home/memories/?status=forgotten", status=400).replace("&quot;", "")


def test_a_foreign_namespace_has_no_memories_page(client: Client, home: Namespace) -> None:
    client.force_login(User.objects.create_user("stranger"))
    assert client.get("/home/memories/").status_code == client.post("/home/memories/").status_code == 404


def test_another_namespaces_entity_finds_nothing(signed_in: Client) -> None:
    other = Namespace.objects.create(slug="office", title="Work", clock=NOW)
    tell(other, TOLD)
    foreign = Entity.objects.within(other).get(name="PostgreSQL")
    page = text(signed_in, f"/home/memories/?entity={foreign.id}")
    assert contents(page) == []
    assert "Nothing matches these filters." in page


def test_the_list_asks_a_bounded_number_of_questions(
    signed_in: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    signed_in.get("/home/memories/")
    with django_assert_max_num_queries(15):
        signed_in.get("/home/memories/")
    with django_assert_max_num_queries(18):
        signed_in.get("/home/memories/?type=Fact&confidence=fair&age=quarter&tag=database")


def test_a_person_filters_pages_searches_and_confirms(page: Page, home: Namespace) -> None:
    tell(home, tuple((f"Note number {n} is about topic {n * 7919}", "Fact", {"days": 10 + n}) for n in range(60)))
    page.goto("/home/memories/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Fact", exact=False).first.click()
    expect(page).to_have_url(re.compile("type=Fact"))
    expect(page.locator("[data-row]")).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(page).to_have_url(re.compile("cursor="))
    expect(page.locator("[data-row]")).to_have_count(12)
    page.go_back()
    expect(page.locator("[data-row]")).to_have_count(50)
    page.keyboard.press("/")
    page.keyboard.type("postgresql")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=postgresql"))
    expect(page.get_by_role("button", name="Confirm")).to_be_disabled()
    page.locator("[data-choose-all]").check()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Confirmed: 1 of 1")).to_be_visible()
    for width in (380, 768, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_a_view_is_saved_under_a_name_and_let_go_again(signed_in: Client) -> None:
    signed_in.post("/home/memories/?type=Fact&cursor=x", {"act": "keep", "name": "Facts alone"})
    page = text(signed_in)
    assert re.search(r'<a href="\?type=Fact">Facts alone</a>', page)
    assert 'href="?type=Fact" aria-current="true">Facts alone' in text(signed_in, "/home/memories/?type=Fact")
    signed_in.post("/home/memories/", {"act": "drop", "name": "Facts alone"})
    assert "Facts alone" not in text(signed_in)


def test_views_are_bounded_and_a_forged_cookie_counts_for_nothing(signed_in: Client, maya: User) -> None:
    for number in range(8):
        assert signed_in.post("/home/memories/", {"act": "keep", "name": f"View {number}"}).status_code == 302
    refused = signed_in.post("/home/memories/", {"act": "keep", "name": "One more"})
    assert refused.status_code == 400
    assert "at most 8 views" in refused.content.decode()
    assert signed_in.post("/home/memories/", {"act": "keep", "name": ""}).status_code == 400
    signed_in.cookies[f"views-{maya.pk}"] = "forged"
    assert "View 1" not in text(signed_in)


def test_no_session_keeps_the_words_of_what_was_forgotten(signed_in: Client, home: Namespace) -> None:
    first = Memory.objects.within(home).order_by("-created_at").first()
    assert first
    signed_in.post("/home/memories/", {"act": "forget", "ids": [first.id], "sure": "1"})
    assert first.content not in str(dict(signed_in.session))
