"""The Traces pages: list, filters, live updates, single trace."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.answer import Result
from memories.contracts.new_memory import NewMemory
from memories.models import ApiKey, Namespace, Trace
from memories.models.choices import Role
from memories.retrieval.prompt_context import render_markdown
from memories.writing.remember import remember
from tests.support.access import key_to, member_of
from tests.support.rows import empty_namespace
from tests.support.sign_in import sign_in
from tests.support.traces import trace_row

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def reader(namespace: Namespace) -> Client:
    return member_of(namespace, Role.READ)


def get_page(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/here/traces/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def queries(text: str) -> list[str]:
    """The queries on a page, in order."""
    return re.findall(r'<td class="query"><a[^>]*>(.*?)</a>', text)


def test_a_row_shows_query_outcome_and_caller(namespace: Namespace, reader: Client) -> None:
    key_to(namespace)
    agent = ApiKey.objects.within(namespace).get()
    trace_row(
        namespace,
        "Which oven?",
        system="recall",
        request={"profile": "careful", "version": 3},
        answer={"results": [{}, {}]},
        results=2,
        best_score=0.75,
        took_ms={"parse": 200.0, "rank": 50.4},
        api_key_id=agent.id,
    )
    trace_row(namespace, "Nothing?", -1, abstained=True)
    text = get_page(reader)
    assert queries(text) == ["Which oven?", "Nothing?"]
    for part in ("careful@3", ">agent<", ".7500", "250 ms", 'width="50.1%"', ">abstained<", "signed-in user"):
        assert part in text
    assert f"/here/lab/?trace={Trace.objects.get(query='Nothing?').id}" in text
    assert queries(get_page(reader, "?requested_by=agent")) == ["Which oven?"]
    assert queries(get_page(reader, "?requested_by=person")) == ["Nothing?"]
    assert "style=" not in text


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("?q=&system=&abstained=&slower_than=&best_below=", ["slow", "empty", "good"]),
        ("?abstained=true", ["empty"]),
        ("?slower_than=100", ["slow"]),
        ("?best_below=.5", None),
        ("?best_below=0.5", ["slow"]),
        ("?q=OO", ["good"]),
        ("?limit=2", ["slow", "empty"]),
    ],
)
def test_the_address_chooses_as_the_api_does(
    namespace: Namespace, reader: Client, address: str, found: list[str] | None
) -> None:
    trace_row(namespace, "good", 0, best_score=0.9)
    trace_row(namespace, "empty", 1, abstained=True)
    trace_row(namespace, "slow", 2, best_score=0.2, took_ms={"retrieve": 400})
    if found is None:
        refused = reader.get(f"/here/traces/{address}")
        assert refused.status_code == 400
        assert "must be a finite number; got &quot;.5&quot;" in refused.content.decode()
        assert 'name="best_below" value=".5"' in refused.content.decode()
        return
    assert queries(get_page(reader, address)) == found


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("?since={1}", ["third", "second"]),
        ("?until={1}", ["first"]),
        ("?since={1}&until={2}", ["second"]),
        ("?since={1}Z&until={2}%2B00:00", ["second"]),
        ("?since={day}&until=", ["third", "second", "first"]),
    ],
)
def test_a_span_of_time_is_taken_as_utc_and_stays_in_its_fields(
    namespace: Namespace, reader: Client, address: str, found: list[str]
) -> None:
    made = [trace_row(namespace, name, hour) for hour, name in enumerate(["first", "second", "third"])]
    times = [f"{one.at:%Y-%m-%dT%H:%M:%S}" for one in made]
    text = get_page(reader, address.format(*times, day=times[0][:10]))
    assert queries(text) == found
    if "since={1}" in address:
        assert f'name="since" value="{times[1]}"' in text


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("?since=yesterday", "must be a time in ISO 8601, such as 2026-03-02T12:00:00Z; got &quot;yesterday&quot;"),
        ("?until=2026-02-31T10:00", "got &quot;2026-02-31T10:00&quot;"),
        ("?since=2026-03-02T12:00&until=2026-03-02T11:00", "must lie after since (2026-03-02T12:00:00+00:00)"),
        ("?since=0001-01-01T00:00%2B14:00", "must be a time in ISO 8601"),
    ],
)
def test_a_span_that_cannot_be_is_refused_in_words(
    namespace: Namespace, reader: Client, address: str, says: str
) -> None:
    refused = reader.get(f"/here/traces/{address}")
    assert refused.status_code == 400
    assert says in refused.content.decode()


def test_a_list_that_ended_in_the_past_waits_for_nothing(namespace: Namespace, reader: Client) -> None:
    trace_row(namespace, "old")
    assert "recall:poll" not in get_page(reader, "?until=2026-03-02T12:00")
    assert "recall:poll" in get_page(reader, "?until=2999-01-01T00:00")


def test_pages_go_on_by_key_and_only_the_newest_is_live(namespace: Namespace, reader: Client) -> None:
    for number in range(5):
        trace_row(namespace, f"q{number}", number)
    first = get_page(reader, "?limit=2&q=q")
    assert "recall:poll" in first
    older = re.search(r'href="http://testserver/here/traces/([^"]*)">Older', first)
    assert older
    second = get_page(reader, older[1].replace("&amp;", "&"))
    assert queries(second) == ["q2", "q1"]
    assert "recall:poll" not in second
    assert 'href="/here/traces/?q=q">Newest' in second


def test_what_arrives_is_given_once_with_the_address_of_what_comes_next(namespace: Namespace, reader: Client) -> None:
    trace_row(namespace, "old")
    address = poll_url(get_page(reader, "?q=o", **HTMX))
    assert reader.get(address).status_code == 204
    trace_row(namespace, "other", 1)
    trace_row(namespace, "unlike", 2)
    trace_row(namespace, "another", 3)
    came = reader.get(address, headers=HTMX).content.decode()
    assert queries(came) == ["another", "other"]
    assert "<h1" not in came
    assert reader.get(poll_url(came)).status_code == 204
    assert reader.get("/here/traces/new/").status_code == 400


def poll_url(text: str) -> str:
    """The URL that a page polls."""
    found = re.search(r'data-poll="3" data-pausable hx-get="([^"]*)"', text)
    assert found
    return found[1].replace("&amp;", "&")


def test_an_empty_list_says_why_and_what_to_do(namespace: Namespace, reader: Client) -> None:
    assert "No traces yet" in get_page(reader)
    assert "No trace matches." in get_page(reader, "?q=x")


def test_a_trace_can_be_read_by_itself(client: Client, namespace: Namespace, reader: Client) -> None:
    remember(namespace, [NewMemory(content="Maya bakes with a Ooni oven.")], by="test")
    asked = client.post(
        "/api/v1/here/retrieve/",
        {"query": "Which oven has Maya?"},
        "application/json",
        headers=key_to(namespace, Role.READ),
    ).json()
    text = reader.get(f"/here/traces/{asked['trace']}/").content.decode()
    for part in (
        "Maya bakes with a Ooni oven.",
        "1 result<",
        "<b>1</b> candidate<",
        "semantic 1st",
        "embed",
        "no window",
    ):
        assert part in text, part
    assert f"/here/lab/?trace={asked['trace']}" in text
    nothing = trace_row(namespace, "Nothing?", abstained=True, answer={"reason": "No retriever found anything."})
    assert "No retriever found anything." in reader.get(f"/here/traces/{nothing.id}/").content.decode()


def test_a_memory_is_as_many_whole_days_old_as_in_the_context(
    client: Client, namespace: Namespace, reader: Client
) -> None:
    now = namespace.now
    remember(
        namespace, [NewMemory(content="Maya bakes with a Ooni oven.", created_at=now - timedelta(days=18.6))], by="test"
    )
    asked = client.post(
        "/api/v1/here/retrieve/",
        {"query": "Which oven has Maya?"},
        "application/json",
        headers=key_to(namespace, Role.READ),
    ).json()
    assert 18.5 < asked["results"][0]["age_days"] < 19
    assert "18 d old" in render_markdown([Result.from_dict(one) for one in asked["results"]])
    for path in (f"traces/{asked['trace']}/", f"lab/?trace={asked['trace']}"):
        assert re.search(r"\b18 d(ays)? old", reader.get(f"/here/{path}").content.decode()), path


def test_a_foreign_trace_does_not_exist(namespace: Namespace, reader: Client) -> None:
    foreign = trace_row(empty_namespace("there"), "secret")
    assert reader.get(f"/here/traces/{foreign.id}/").status_code == 404
    assert reader.get(f"/there/traces/{foreign.id}/").status_code == 404
    assert reader.get("/there/traces/new/").status_code == 404


def test_the_pages_run_a_known_number_of_sql_queries(
    namespace: Namespace, reader: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = [trace_row(namespace, f"q{number}", number) for number in range(60)]
    reader.get("/here/")
    with django_assert_max_num_queries(6):  # session, user, membership, namespaces, traces, keys
        assert len(queries(get_page(reader))) == 50
    with django_assert_max_num_queries(6):
        reader.get(f"/here/traces/{made[0].id}/")
    address = poll_url(get_page(reader))
    with django_assert_max_num_queries(4):  # session, user, membership, traces
        reader.get(address)


def test_a_retrieval_appears_in_the_open_page_by_itself(
    page: Page,
    home: Namespace,
    client: Client,
) -> None:
    sign_in(page)
    page.goto("/home/traces/")
    expect(page.get_by_text("No traces yet")).to_be_visible()
    headers = key_to(home, Role.READ)

    def retrieve(query: str) -> Any:
        return client.post("/api/v1/home/retrieve/", {"query": query}, "application/json", headers=headers).json()

    asked = retrieve("Which oven has Maya?")
    row = page.get_by_role("row").filter(has_text="Which oven has Maya?")
    expect(row).to_be_visible(timeout=15_000)
    expect(row).to_contain_text("abstained")
    expect(row.get_by_role("link", name="in the Lab")).to_have_attribute("href", f"/home/lab/?trace={asked['trace']}")
    expect(page.locator("[data-arrivals]")).to_have_text("Live, 1 new")
    page.get_by_role("button", name="Pause").click()
    retrieve("And which pan?")
    page.wait_for_timeout(4_000)
    expect(page.get_by_text("And which pan?")).to_have_count(0)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("And which pan?")).to_be_visible(timeout=15_000)
    page.get_by_label("Query contains").fill("pan")
    expect(page.get_by_text("Which oven has Maya?")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"q=pan"))
    page.reload()
    page.get_by_role("button", name="Pause").click()  # a pending poll must not hit the next page
    page.get_by_label("Since (UTC)").fill("2999-01-01T00:00:00")
    expect(page.get_by_text("No trace matches.")).to_be_visible()
    page.get_by_label("Since (UTC)").fill("2026-01-01T00:00:00")
    expect(page.get_by_text("No trace matches.")).to_have_count(0)
    page.get_by_role("link", name="And which pan?", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("And which pan?")
    for width in (380, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for address in ("/home/traces/", page.url):
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
