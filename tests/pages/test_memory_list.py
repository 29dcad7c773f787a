"""The Memories page: filters, facets, search, pagination, and bulk actions."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.models import Entity, Membership, Memory, MemoryTag, Namespace, ScoreEvent, Session
from memories.models.choices import Status
from memories.pages.memory_list import facets, filters
from memories.retrieval.fetch import Fetched
from tests.support.memory_pages import MEMORIES, NOW, fill_home, page_text, store_memories

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(home: Namespace) -> Namespace:
    return fill_home(home)


def contents(page: str) -> list[str]:
    """The memories of the list, in their order."""
    return re.findall(r"data-row>(.*?)</a>", page)


def counts(page: str, title: str) -> dict[str, str]:
    """A facet's values with their counts."""
    (facet,) = re.findall(rf"<summary>{title}</summary>\s*<ul>(.*?)</ul>", page, re.S)
    return dict(re.findall(r'<span>([^<]*)</span><span class="num">([^<]*)</span>', facet))


def test_the_newest_memories_come_first_with_their_numbers(signed_in: Client) -> None:
    page = page_text(signed_in)
    assert contents(page) == [content for content, _, _ in MEMORIES]
    assert "<b>5</b> match" in page
    assert re.search(r'<td class="num">3 d</td>\s*<td class="date">27 Feb 2026</td>', page)


def test_facets_count_what_matches(signed_in: Client) -> None:
    page = page_text(signed_in)
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
    page = page_text(signed_in, "/home/memories/?type=Preference")
    assert contents(page) == [MEMORIES[0][0], MEMORIES[1][0]]
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
        assert contents(page_text(signed_in, f"/home/memories/?{filter}")) == [
            MEMORIES[place][0] for place in expected
        ], filter


def test_words_find_the_memories_that_hold_all_of_them(signed_in: Client) -> None:
    assert contents(page_text(signed_in, "/home/memories/?q=postgresql")) == [MEMORIES[1][0], MEMORIES[2][0]]
    assert contents(page_text(signed_in, "/home/memories/?q=postgresql+services")) == [MEMORIES[1][0]]
    nothing = page_text(signed_in, "/home/memories/?q=zebra")
    assert "No memory contains “zebra”." in nothing
    assert "Semantic search" in nothing
    assert contents(page_text(signed_in, "/home/memories/?q=the&type=Fact")) == []


def test_meaning_finds_other_words_and_records_no_access(signed_in: Client, home: Namespace) -> None:
    page = page_text(signed_in, "/home/memories/?q=what+does+she+have+for+breakfast&by=semantic")
    assert contents(page)[0] == MEMORIES[0][0]
    assert "cosine" in page
    assert contents(page_text(signed_in, "/home/memories/?q=software&by=semantic&type=Fact&age=quarter")) == [
        MEMORIES[2][0]
    ]
    assert set(Memory.objects.within(home).values_list("access_count", flat=True)) == {0}


def test_filters_that_choose_among_the_nearest_say_so(signed_in: Client) -> None:
    some = page_text(signed_in, "/home/memories/?q=software&by=semantic&age=quarter")
    assert re.search(r"<b>\d</b> of the \d nearest pass(es)? these filters", some)
    none = page_text(signed_in, f"/home/memories/?q=software&by=semantic&session={uuid4()}")
    assert contents(none) == []
    assert "nearest passes these filters." in none
    assert "contains all of these words" not in none
    assert "There is nothing to search semantically under these filters." in page_text(
        signed_in, "/home/memories/?q=software&by=semantic&tag=nobody+has+it"
    )


def test_pages_follow_each_other_without_a_gap(signed_in: Client, home: Namespace) -> None:
    seen, address = list[str](), "/home/memories/?limit=2"
    for _ in range(3):
        page = page_text(signed_in, address)
        seen += contents(page)
        address = next(iter(re.findall(r'rel="next" href="http://testserver(.*?)"', page)), "").replace("&amp;", "&")
    assert seen == [content for content, _, _ in MEMORIES]
    assert address == ""
    (back,) = re.findall(r'rel="prev" href="http://testserver(.*?)"', page)
    assert contents(page_text(signed_in, back.replace("&amp;", "&"))) == [MEMORIES[2][0], MEMORIES[3][0]]


def test_counts_end_somewhere_and_say_so(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets, "MAX_COUNTED", 3)
    monkeypatch.setattr("memories.pages.memory_list.views.MAX_COUNTED", 3)
    page = page_text(signed_in)
    assert "<b>3+</b> match" in page
    assert counts(page, "Status") == {"active": "3+"}
    assert counts(page, "Type")["Preference"] == "2+"


def test_a_wrong_filter_is_reported_with_what_is_allowed(signed_in: Client) -> None:
    page = page_text(signed_in, "/home/memories/?type=Nonsense&q=coffee", status=400)
    assert "type must be one of Entity, Event, Fact, Preference, Relation; got &quot;Nonsense&quot;" in page
    assert 'value="coffee"' in page
    assert "cursor must be a cursor" in page_text(signed_in, "/home/memories/?cursor=none", status=400)
    assert "must be active for a search" in page_text(signed_in, "/home/memories/?q=oven&status=merged", status=400)


def test_htmx_is_shown_what_is_wrong_too(signed_in: Client) -> None:
    answer = signed_in.get("/home/memories/?type=Nonsense", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "type must be one of" in answer.content.decode()


def test_a_search_by_meaning_that_takes_too_long_is_named(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Fetched(timed_out={"semantic": "took longer than 500 ms"})
    monkeypatch.setattr(filters, "fetch", lambda statements, config: slow)
    page = page_text(signed_in, "/home/memories/?q=breakfast&by=semantic")
    assert "The semantic search was left out: it took longer than 500 ms." in page


def test_an_empty_namespace_says_what_to_do(signed_in: Client, maya: User) -> None:
    empty = Namespace.objects.create(slug="empty", title="Nothing")
    Membership.objects.create(user=maya, namespace=empty)
    assert "There are no memories yet." in page_text(signed_in, "/empty/memories/")


def test_htmx_gets_the_list_alone_and_history_the_whole_page(signed_in: Client) -> None:
    part = signed_in.get("/home/memories/", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert contents(part)
    whole = signed_in.get("/home/memories/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in whole.content.decode()


def test_many_are_confirmed_and_each_is_reported(signed_in: Client, home: Namespace) -> None:
    first, second = Memory.objects.within(home).order_by("-created_at")[:2]
    Memory.objects.within(home).filter(id=second.id).update(status=Status.ARCHIVED, reason="too old")
    answer = signed_in.post("/home/memories/?age=week", {"act": "confirm", "ids": [first.id, second.id]}, follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain == [("/home/memories/?age=week", 302)]
    assert "Confirmed: 1 of 2" in page
    assert f"Memory {second.id} is archived (too old)." in page
    assert ScoreEvent.objects.within(home).get(cause="confirmed").memory_id == first.id
    assert "Confirmed: 1 of 2" not in page_text(signed_in)


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
    page = page_text(client)
    assert contents(page)
    assert 'name="ids"' not in page
    assert not {act for act in ("confirm", "tag", "forget") if f'name="act" value="{act}"' in page}
    first = Memory.objects.within(home).first()
    assert first
    refused = client.post("/home/memories/", {"act": "confirm", "ids": [first.id]})
    assert refused.status_code == 403
    assert "This needs the role write" in refused.content.decode()
    assert "got forgotten" in page_text(client, "/home/memories/?status=forgotten", status=400).replace("&quot;", "")


def test_a_foreign_namespace_has_no_memories_page(client: Client, home: Namespace) -> None:
    client.force_login(User.objects.create_user("stranger"))
    assert client.get("/home/memories/").status_code == client.post("/home/memories/").status_code == 404


def test_another_namespaces_entity_finds_nothing(signed_in: Client) -> None:
    other = Namespace.objects.create(slug="office", title="Work", clock=NOW)
    store_memories(other, MEMORIES)
    foreign = Entity.objects.within(other).get(name="PostgreSQL")
    page = page_text(signed_in, f"/home/memories/?entity={foreign.id}")
    assert contents(page) == []
    assert "Nothing matches these filters." in page


def test_the_list_runs_a_bounded_number_of_sql_queries(
    signed_in: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    signed_in.get("/home/memories/")
    with django_assert_max_num_queries(15):
        signed_in.get("/home/memories/")
    with django_assert_max_num_queries(18):
        signed_in.get("/home/memories/?type=Fact&confidence=fair&age=quarter&tag=database")


def test_a_person_filters_pages_searches_and_confirms(page: Page, home: Namespace) -> None:
    store_memories(
        home, tuple((f"Note number {n} is about topic {n * 7919}", "Fact", {"days": 10 + n}) for n in range(60))
    )
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
    page = page_text(signed_in)
    assert re.search(r'<a href="\?type=Fact">Facts alone</a>', page)
    assert 'href="?type=Fact" aria-current="true">Facts alone' in page_text(signed_in, "/home/memories/?type=Fact")
    signed_in.post("/home/memories/", {"act": "drop", "name": "Facts alone"})
    assert "Facts alone" not in page_text(signed_in)


def test_views_are_bounded_and_a_forged_cookie_counts_for_nothing(signed_in: Client, maya: User) -> None:
    for number in range(8):
        assert signed_in.post("/home/memories/", {"act": "keep", "name": f"View {number}"}).status_code == 302
    refused = signed_in.post("/home/memories/", {"act": "keep", "name": "One more"})
    assert refused.status_code == 400
    assert "at most 8 views" in refused.content.decode()
    assert signed_in.post("/home/memories/", {"act": "keep", "name": ""}).status_code == 400
    signed_in.cookies[f"views-{maya.pk}"] = "forged"
    assert "View 1" not in page_text(signed_in)


def test_no_session_keeps_the_words_of_what_was_forgotten(signed_in: Client, home: Namespace) -> None:
    first = Memory.objects.within(home).order_by("-created_at").first()
    assert first
    signed_in.post("/home/memories/", {"act": "forget", "ids": [first.id], "sure": "1"})
    assert first.content not in str(dict(signed_in.session))
