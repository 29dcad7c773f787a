"""The Health page."""

import zlib
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.maintenance import index_recall, retriever_health
from memories.maintenance.table_sizes import all_table_sizes, vector_index_sizes
from memories.models import Job, Namespace, NamespaceStatistics, Trace
from memories.models.choices import JobKind, JobState, Role
from memories.models.vector import index_name
from memories.writing.remember import remember
from tests.support.access import key_to, member_of
from tests.support.sign_in import sign_in
from tests.support.traces import trace_row
from tests.support.vector_indexes import index_vectors

pytestmark = pytest.mark.django_db

FACTS = [
    "Maya bakes bread on Sundays",
    "Jonas drives a green tram",
    "The harbour freezes in February",
    "Alma collects stamps from Chile",
    "Elias repairs old radios",
    "The library closes at nine",
    "Torsk is a fat ginger cat",
    "Leila studied marine biology",
    "The ferry to Vinga is cancelled",
    "Bread needs salt and patience",
    "Kafka was retired in spring",
    "The garden has eleven apple trees",
]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")


@pytest.fixture
def full(namespace: Namespace) -> Namespace:
    remember(namespace, [NewMemory(content=fact) for fact in FACTS], by="tests")
    return namespace


def retrieve(client: Client, query: str, **more: Any) -> Any:
    headers = key_to(Namespace.objects.get(slug="here"), Role.READ)
    return client.post("/api/v1/here/retrieve/", {"query": query, **more}, "application/json", headers=headers).json()


def get_page(client: Client, address: str = "/here/health/", **headers: str) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_an_empty_namespace_says_what_will_be_seen(namespace: Namespace) -> None:
    text = get_page(member_of(namespace, Role.READ))
    for part in (
        "no traces yet",
        "Every search is exact",
        "Below 20,000 memories every vector is compared",
        "No retriever has run yet",
        "No timings yet",
        "No unfinished jobs",
        "all namespaces together",
    ):
        assert part in text, part
    assert "<form" not in text.split('id="main"')[1]
    assert "style=" not in text


def test_retrievers_tell_how_often_they_found_something_and_why_not(client: Client, full: Namespace) -> None:
    for number in range(10):
        retrieve(client, f"Who bakes bread, {number}?", system="recall")
    text = get_page(member_of(full))
    assert "Every retriever has results" not in text
    assert "<b>Temporal</b> had no results" not in text
    heard = {one.retriever: one for one in retriever_health.health_by_retriever(retriever_health.latest_traces(full))}
    assert (heard["semantic"].with_results, heard["semantic"].alert, heard["semantic"].main_reason) == (10, False, "")
    assert heard["temporal"].main_reason == "the queries had no time window (10 of 10)"
    assert (heard["temporal"].alert, heard["temporal"].last_result_at) == (False, None)


def test_a_retriever_that_ran_ten_times_and_found_nothing_is_flagged(client: Client, full: Namespace) -> None:
    for number in range(10):
        retrieve(client, f"Who baked bread in May 1990, {number}?", system="recall")
    health = retriever_health.health_by_retriever(retriever_health.latest_traces(full))
    (heard,) = [one for one in health if one.retriever == "temporal"]
    assert (heard.alert, heard.main_reason) == (True, "no memory lies near their time window (10 of 10)")
    assert "<b>Temporal</b> had no results in the last 10 retrievals" in get_page(member_of(full))


def test_nobody_is_praised_for_finding_nothing(client: Client, namespace: Namespace) -> None:
    retrieve(client, "bread", system="recall")
    text = get_page(member_of(namespace, Role.READ))
    assert "5 of 5 retrievers without results yet" in text
    assert "Every retriever has results" not in text


def test_a_timed_out_retriever_is_named(client: Client, full: Namespace) -> None:
    kept = Trace.objects.get(id=retrieve(client, "bread", system="recall")["trace"])
    late = [{"retriever": "bm25", "reason": "took longer than 500 ms"}]
    signals = bytes(kept.signals)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_trace")
    answer = {**kept.answer, "timed_out": late}
    made = {"system": "recall", "plan": kept.plan, "answer": answer, "signals": without_rank(signals, "bm25")}
    trace_row(full, "slow", **made)
    assert "<b>BM25</b> timed out or failed 1 time of 1" in get_page(member_of(full))
    heard = {one.retriever: one for one in retriever_health.health_by_retriever(retriever_health.latest_traces(full))}
    assert heard["bm25"].main_reason == "it took longer than 500 ms (1 of 1)"


def without_rank(signals: bytes, route: str) -> bytes:
    """The signals as if one retriever had not answered."""
    return zlib.compress(zlib.decompress(signals).replace(f"rank {route}".encode(), b"rank nobody"[: 5 + len(route)]))


def test_times_are_shown_as_p50_and_p95(namespace: Namespace) -> None:
    rows = [{"took_ms": {"parse": float(ms), "rank": 1.0}} for ms in range(1, 102)]
    parse, rank, whole = retriever_health.step_latencies(rows)
    assert (parse.name, parse.p50, parse.p95) == ("parse", 51.0, 96.0)
    assert (rank.p95, whole.p50) == (1.0, 52.0)
    assert retriever_health.step_latencies([]) == []


def run_measurement(namespace: Namespace) -> Job:
    job = submit_job(namespace, JobKind.MEASURE, {}, by="tests")
    run_job(namespace.id, job.id)
    job.refresh_from_db()
    return job


def test_the_index_is_measured_against_a_scan(client: Client, full: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    index_vectors(full)
    for fact in FACTS[:3]:
        retrieve(client, fact)
    job = run_measurement(full)
    assert (job.state, job.error) == (JobState.DONE, "")
    found = index_recall.latest_index_recall(full)
    assert found is not None
    assert (found.recall, found.worst, found.alert, found.real_queries) == (1.0, 1.0, False, 3)
    assert len(found.recalls) == 3 + len(FACTS)
    text = get_page(member_of(full))
    assert "The index finds 1.000 of the 10 nearest" in text
    assert "target .95" in text
    assert "Search effort (<code>ef_search</code>) 100" in text
    assert "100 finds 1.000." in text
    assert "the highest is not enough" not in text
    assert NamespaceStatistics.objects.get(namespace=full).ef_search == 100
    assert "Measure now" in text


def find_a_share(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Have the index find only some of the ten nearest."""
    exact = index_recall.semantic_top
    monkeypatch.setattr(
        index_recall, "semantic_top", lambda *given, effort: exact(*given, effort=effort)[: count if effort else None]
    )


def test_an_index_that_misses_too_much_is_an_alert(full: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    find_a_share(monkeypatch, 8)
    index_vectors(full)
    run_measurement(full)
    found = index_recall.latest_index_recall(full)
    assert found is not None
    assert found.alert
    assert "stored vectors, since there were no earlier queries" in get_page(member_of(full))
    assert found.ef_search == index_recall.MAX_EF_SEARCH  # all were tried
    assert set(found.by_effort) == {str(effort) for effort in index_recall.EFFORTS}
    assert "The recall of the index is too low." in get_page(member_of(full))
    assert "It finds .800 of the 10 nearest; the target is .95." in get_page(member_of(full))
    assert "the highest, which is not enough: 100 finds .800, 125 finds .800" in get_page(member_of(full))


@pytest.mark.parametrize(("threshold", "alert"), [(0.90, False), (0.91, True), (0.99, True)])
def test_the_alert_reads_its_threshold_from_the_published_policy(
    client: Client, full: Namespace, monkeypatch: pytest.MonkeyPatch, threshold: float, alert: bool
) -> None:
    find_a_share(monkeypatch, 9)
    index_vectors(full)
    run_measurement(full)
    admin = key_to(full, Role.ADMIN)
    made = client.post(
        "/api/v1/here/policies/", {"params": {"index_recall": threshold}}, "application/json", headers=admin
    )
    client.post(f"/api/v1/here/policies/{made.json()['id']}/publish/", {}, "application/json", headers=admin)
    text = get_page(member_of(full))
    assert ("The recall of the index is too low." in text) == alert
    assert f"target {threshold:.2f}".replace("0.", ".") in text
    assert f"recall_index_alerts {float(alert)}" in client.get("/metrics").content.decode()


def test_a_small_namespace_has_nothing_to_measure(full: Namespace) -> None:
    assert run_measurement(full).state == JobState.DONE
    assert index_recall.latest_index_recall(full) is None


def test_work_is_listed_with_its_state_and_its_error(namespace: Namespace) -> None:
    member = member_of(namespace)
    assert member.post("/here/health/start/", {"kind": "reflect"}).status_code == 302
    Job.objects.create(
        namespace=namespace, kind="reembed", state="failed", error="EmbedderError: no key", by="schedule"
    )
    text = get_page(member)
    for part in ("Reflection is queued.", "1 unfinished job", "EmbedderError: no key", "✕ failed"):
        assert part in text, part
    again = get_page(member, **{"HX-Request": "true"})
    assert "recall:poll" in again
    assert "<h1" not in again


def test_only_known_work_is_started_and_only_by_who_may(namespace: Namespace) -> None:
    assert member_of(namespace, Role.READ).post("/here/health/start/", {"kind": "reflect"}).status_code == 403
    assert member_of(namespace, Role.WRITE).post("/here/health/start/", {"kind": "reembed"}).status_code == 404
    assert member_of(namespace, Role.WRITE).get("/here/health/start/").status_code == 405
    assert not Job.objects.exists()


def test_the_embedder_is_tried_by_itself(namespace: Namespace) -> None:
    tried = get_page(member_of(namespace), "/here/health/?try=embedder", **{"HX-Request": "true"})
    assert "✓ available" in tried
    assert "256 dimensions" in tried
    assert "<h1" not in tried
    Namespace.objects.update(embedder="openai/unheard-of")
    assert "✕ not available" in get_page(member_of(namespace), "/here/health/?try=embedder")


def test_tables_and_indexes_have_sizes(full: Namespace) -> None:
    found = {one.name: one for one in all_table_sizes()}
    assert found["memory"].total == found["memory"].rows + found["memory"].indexes > 0
    assert "trace" in found
    assert not any("trace_" in name for name in found)
    assert vector_index_sizes() == {}
    index_vectors(full)
    assert vector_index_sizes()[index_name(full.id, full.embedder)] > 0
    assert "1 namespace with an HNSW index" in get_page(member_of(full))


def test_a_stranger_sees_nothing(namespace: Namespace) -> None:
    stranger = member_of(Namespace.objects.create(slug="there", title="There"))
    assert stranger.get("/here/health/").status_code == 404
    assert stranger.post("/here/health/start/", {"kind": "reflect"}).status_code == 404


def test_the_page_runs_a_known_number_of_sql_queries(
    client: Client, full: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        retrieve(client, f"bread {number}")
    member = member_of(full)
    member.post("/here/health/start/", {"kind": "reflect"})
    get_page(member)
    with django_assert_max_num_queries(17):  # five of every page, twelve kinds of facts
        get_page(member)
    with django_assert_max_num_queries(9):
        get_page(member, **{"HX-Request": "true"})


def test_the_page_watches_work_until_it_is_done(
    page: Page,
    home: Namespace,
) -> None:
    Namespace.objects.update(embedder="wordllama-256")
    sign_in(page)
    page.get_by_role("link", name="Health").first.click()
    expect(page.get_by_text("✓ available")).to_be_visible(timeout=15_000)
    page.get_by_role("button", name="Reflect now").click()
    expect(page.get_by_role("status")).to_have_text("Reflection is queued.")
    work = page.locator("#work")
    expect(work.get_by_role("heading")).to_have_text("1 unfinished job")
    run_job(home.id, Job.objects.get().id)
    expect(work.get_by_role("heading")).to_have_text("No unfinished jobs", timeout=15_000)
    expect(work).to_contain_text("✓ done")
    expect(work).to_contain_text("maya")
    for width in (380, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
