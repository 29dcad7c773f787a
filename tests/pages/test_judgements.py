"""The Judgements pages: sets, their queries, their pools, and judging pair by pair."""

import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace, Trace
from memories.models.choices import JobKind, QueryKind, Role, Status
from memories.pages.judgements import views as judgement_views
from memories.tuning import current_grades, judgement_pooling, judging_queue
from memories.tuning.judgement_store import NewQuery, store_queries
from memories.writing.remember import remember
from tests.support.access import member_of
from tests.support.rows import empty_namespace, row
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db

ADDRESS = "/here/judgements/"


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def judgement_set(namespace: Namespace) -> JudgementSet:
    """A set with a merged, a superseded and two forgotten answers."""
    made = JudgementSet.objects.create(namespace=namespace, name="Tea set", note="by hand")
    survivor, gone = row(Memory, namespace, content="Maya likes tea"), row(Memory, namespace, content="Maya likes milk")
    absorbed = row(Memory, namespace, status=Status.MERGED, merged_into_id=survivor.id)
    old = row(Memory, namespace, status=Status.SUPERSEDED, superseded_by_id=survivor.id)
    brought = [
        NewQuery("What does Maya drink?", category="taste", user="maya", grades={absorbed.id: 3, gone.id: 1}),
        NewQuery("With milk?", grades={gone.id: 3}),
        NewQuery("And before?", grades={old.id: 2}),
        NewQuery("Which sugar?", kind=QueryKind.UNANSWERABLE, grades={survivor.id: 0}),
        NewQuery("Not judged yet"),
    ]
    store_queries(made, brought, by="maya")
    Memory.objects.filter(id=gone.id).update(status=Status.FORGOTTEN)
    return made


def get_page(client: Client, address: str = ADDRESS, **headers: str) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def visible_text(text: str) -> str:
    """What a page says, without its markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", text.split('id="main"')[1]).split())


def one(judgement_set: JudgementSet) -> str:
    return f"{ADDRESS}{judgement_set.id}/"


def pool(judgement_set: JudgementSet, *, k: int = 10) -> None:
    """As if two settings had found two memories for two queries each."""
    first, second = JudgedQuery.objects.filter(judgement_set_id=judgement_set.id).order_by("id")[:2]
    memories = [row(Memory, judgement_set.namespace, content=f"found {number}").id for number in range(2)]
    for query in (first, second):
        judgement_pooling.replace_pool(query, {memories[0]: {"blend": 1, "recall": 1}, memories[1]: {"blend": 2}})
    params = {"set": str(judgement_set.id), "configs": ["blend", "recall"], "k": k}
    result = {"pool": {"unjudged": {"blend": 0.75, "recall": 1.0}}}
    row(Job, judgement_set.namespace, kind=JobKind.POOL, state="done", params=params, result=result)


def test_an_empty_namespace_says_how_to_begin(namespace: Namespace) -> None:
    text = get_page(member_of(namespace))
    assert "No judged sets yet" in text
    assert "press 0 to 3 on a hit" in text
    assert "style=" not in text
    assert "<form" not in get_page(member_of(namespace, Role.READ)).split('id="main"')[1]


def test_the_sets_tell_what_they_hold_and_what_was_left_out(namespace: Namespace, judgement_set: JudgementSet) -> None:
    pool(judgement_set)
    text = visible_text(get_page(member_of(namespace)))
    graded = current_grades.load_grades(namespace, judgement_set.id)
    tuned = sum(query.query.split == "tune" for query in graded.queries)
    assert f"{tuned} + {5 - tuned}" in text
    assert "1 unjudged" in text
    assert "2 forgotten" in text
    assert "✕ 1 without an answer" in text
    assert ".750" in text
    assert f"{sum(map(len, graded.grades.values()))} grades" in text


def test_a_set_tells_its_grades_as_they_hold_today(namespace: Namespace, judgement_set: JudgementSet) -> None:
    page = get_page(member_of(namespace), one(judgement_set))
    text = visible_text(page)
    for part in (
        "5 queries, 3 grades that count",
        "merged since 1",
        "superseded since 1",
        "excluded, forgotten 2",
        "1 query has no answer left",
        "unanswerable 1",
        "This set is not pooled yet",
        "✕ 1 gone",
    ):
        assert part in text, part
    assert "Maya likes milk" not in page  # which was forgotten
    assert "a forgotten memory" in page
    exported = member_of(namespace).get(f"{one(judgement_set)}export/?by_content=1").getvalue().decode()
    assert "Maya likes milk" not in exported
    assert "/here/lab/?query=What%20does%20Maya%20drink%3F&amp;user=maya" in page
    shown = visible_text(get_page(member_of(namespace), f"{one(judgement_set)}?without_answers=1"))
    assert "With milk?" in shown
    assert "And before?" not in shown


def test_queries_are_chosen_by_words_part_kind_and_state(namespace: Namespace, judgement_set: JudgementSet) -> None:
    member = member_of(namespace)

    def query_texts(**chosen: str) -> list[str]:
        text = member.get(one(judgement_set), chosen, headers={"HX-Request": "true"}).content.decode()
        assert "<h1" not in text
        return re.findall(r'<span class="text">(.*?)</span>', text)

    assert len(query_texts()) == 5
    assert query_texts(q="MILK") == ["With milk?"]
    assert query_texts(kind="unanswerable") == ["Which sugar?"]
    assert query_texts(category="taste") == ["What does Maya drink?"]
    assert query_texts(unjudged="true") == ["Not judged yet"]
    wrong = member.get(one(judgement_set), {"split": "x"})
    assert wrong.status_code == 400
    assert "must be one of tune, holdout; got &quot;x&quot;" in wrong.content.decode()


def test_a_huge_set_is_shown_by_page_in_a_known_number_of_sql_queries(
    namespace: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = JudgementSet.objects.create(namespace=namespace, name="huge")
    known = [row(Memory, namespace).id for _ in range(3)]
    store_queries(made, [NewQuery(f"query {n}", grades=dict.fromkeys(known, 1)) for n in range(120)], by="maya")
    member = member_of(namespace)
    get_page(member)
    with django_assert_max_num_queries(11):  # five of every page
        get_page(member)
    with django_assert_max_num_queries(21):
        text = get_page(member, one(made))
    assert text.count('class="counts num"') == 50
    assert ">Next</a>" in text


def test_the_pool_of_a_large_set_is_counted_after_the_page_has_come(
    namespace: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool(judgement_set)
    monkeypatch.setattr(judgement_views, "MAX_IMMEDIATE_QUERIES", 4)
    member = member_of(namespace)
    page = get_page(member, one(judgement_set))
    assert "Counting the pool …" in page
    assert "4 pairs to judge" not in page
    assert "4 pairs to judge" in get_page(member, one(judgement_set), **{"HX-Request": "true", "HX-Target": "pool"})
    assert "4 pairs to judge" in get_page(member, f"{one(judgement_set)}?pool")


def test_a_set_is_made_from_a_file_or_not_at_all(namespace: Namespace) -> None:
    member, known = member_of(namespace), row(Memory, namespace).id
    line = json.dumps({"query": "Tea?", "judgements": [{"memory": str(known), "grade": 3}]})

    def send(text: str, **more: Any) -> Any:
        file = io.BytesIO(text.encode())
        file.name = "set.jsonl"
        return member.post(f"{ADDRESS}new/", {"name": "mine", "file": file, **more})

    refused = send(line + "\n{}")
    assert refused.status_code == 400
    assert "line 2.query" in refused.content.decode()
    assert 'value="mine"' in refused.content.decode()
    assert not JudgementSet.objects.exists()
    assert send(line).status_code == 302
    assert Judgement.objects.get().grade == 3
    again = send(line)
    assert again.status_code == 409
    assert "must be a name that no other set has; got mine" in again.content.decode()


def test_trec_files_are_checked_and_imported(namespace: Namespace, judgement_set: JudgementSet) -> None:
    member = member_of(namespace)
    row(Memory, namespace, metadata={"docid": "D1"})

    def send(qrels: str, **more: str) -> Any:
        files = {"file": io.BytesIO(b"q1\tSugar?\n"), "qrels": io.BytesIO(qrels.encode())}
        return member.post(f"{one(judgement_set)}import/", {**files, "docid": "metadata.docid", **more})

    wrong = send("q1 0 D9 2\n")
    assert wrong.status_code == 400
    assert "qrels line 1" in wrong.content.decode()
    assert send("q1 0 D1 2\n", check="1").status_code == 302
    assert not JudgedQuery.objects.filter(text="Sugar?").exists()
    assert send("q1 0 D1 2\n").status_code == 302
    assert JudgedQuery.objects.get(text="Sugar?").judgements.get().grade == 2
    assert member.post(f"{one(judgement_set)}import/").status_code == 400


def test_queries_are_sampled_from_traces(namespace: Namespace, judgement_set: JudgementSet) -> None:
    member = member_of(namespace)
    row(Trace, namespace, query="Really asked", request={"user": "", "as_of": None})
    wrong = member.post(f"{one(judgement_set)}sample/", {"days": "x", "most": "5", "way": "even"})
    assert wrong.status_code == 400
    assert "must be an integer; got &quot;x&quot;" in wrong.content.decode()
    assert member.post(f"{one(judgement_set)}sample/", {"days": "2", "most": "5", "way": "even"}).status_code == 302
    assert JudgedQuery.objects.filter(text="Really asked").exists()
    assert "1 query sampled, 1 of them new" in get_page(member, one(judgement_set))


def test_a_set_is_saved_as_a_file(namespace: Namespace, judgement_set: JudgementSet) -> None:
    answer = member_of(namespace, Role.READ).get(f"{one(judgement_set)}export/?shape=qrels&current=1")
    assert answer["Content-Disposition"] == 'attachment; filename="Tea-set.qrels"'
    assert len(answer.getvalue().decode().splitlines()) == 3
    assert member_of(namespace).get(f"{one(judgement_set)}export/?shape=x").status_code == 400


def test_a_pool_shows_how_much_of_each_configuration_is_unjudged(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    pool(judgement_set)
    text = visible_text(get_page(member_of(namespace), one(judgement_set)))
    shares = {one.name: one for one in judgement_pooling.unjudged_shares(namespace, judgement_set.id, 10)}
    assert (shares["blend"].found, shares["recall"].found) == (4, 2)
    assert "4 pairs to judge" in text
    assert re.search(r"blend serves 4 4 1\.000", text)
    member = member_of(namespace)
    for sent in ({"k": "0"}, {"k": "5", "configs": "nobody"}, {"k": "x"}, {"k": "00509999"}):
        assert member.post(f"{one(judgement_set)}pool/", sent).status_code == 400
    assert member.post(f"{one(judgement_set)}pool/", {"k": "5", "configs": ["recall", "blend"]}).status_code == 302
    assert "A job is pooling the set" in get_page(member, one(judgement_set))


def test_a_pair_is_graded_skipped_and_taken_back(namespace: Namespace, judgement_set: JudgementSet) -> None:
    pool(judgement_set)
    member = member_of(namespace)
    judge = f"{one(judgement_set)}judge/"
    first, second, third, *_ = judging_queue.unjudged_pairs(namespace, judgement_set.id, 10)
    page = visible_text(get_page(member, judge))
    assert "4 pairs to judge" in page
    assert "found by blend 1st, recall 1st" in page

    def act(pair: Any, act: str, here: str = "") -> Any:
        body = {"act": act, "pair": pair.id, "query": pair.query_id, "memory": pair.memory_id, "here": namespace}
        return member.post(f"{one(judgement_set)}grade/", body)

    answer = act(first, "2")
    kept = Judgement.objects.get(query_id=first.query_id, memory_id=first.memory_id)
    assert kept.grade == 2
    assert kept.judged_by.startswith("member")
    after = visible_text(get_page(member, answer["Location"]))
    assert "2 for “found 0”. 3 pairs to judge." in after
    skipped = act(second, "skip")
    assert "3 pairs to judge, 1 skipped" in visible_text(get_page(member, skipped["Location"]))
    assert f'name="pair" value="{second.id}"' in get_page(member, judge)
    assert f'name="pair" value="{third.id}"' in get_page(member, skipped["Location"])
    act(first, "undo")
    assert not Judgement.objects.filter(query_id=first.query_id, memory_id=first.memory_id).exists()
    refused = act(first, "4")
    assert refused.status_code == 400
    assert "must be one of 0, 1, 2, 3, skip, undo" in refused.content.decode()
    assert member.get(f"{judge}?skip=x&last=nonsense").status_code == 200


def test_a_set_without_a_pool_says_so_where_pairs_are_judged(namespace: Namespace, judgement_set: JudgementSet) -> None:
    assert "There is nothing to judge yet" in get_page(member_of(namespace), f"{one(judgement_set)}judge/")


def test_readers_look_and_strangers_see_nothing(namespace: Namespace, judgement_set: JudgementSet) -> None:
    pool(judgement_set)
    reader, stranger = member_of(namespace, Role.READ), member_of(empty_namespace("there"))
    for part in ("", "judge/"):
        assert 'method="post"' not in get_page(reader, f"{one(judgement_set)}{part}").split('id="main"')[1]
        assert stranger.get(f"{one(judgement_set)}{part}").status_code == 404
        assert (
            member_of(Namespace.objects.get(slug="there")).get(f"/there/judgements/{judgement_set.id}/").status_code
            == 404
        )
    for part in ("delete/", "sample/", "grade/", "import/", "pool/"):
        assert reader.post(f"{one(judgement_set)}{part}").status_code == 403
        assert stranger.post(f"{one(judgement_set)}{part}").status_code == 404
    assert reader.post(f"{ADDRESS}new/", {"name": "x"}).status_code == 403
    assert member_of(namespace).post(f"{one(judgement_set)}delete/").status_code == 302
    assert not JudgedQuery.objects.exists()


def test_a_person_makes_a_set_pools_it_and_judges_by_keys(
    page: Page,
    home: Namespace,
) -> None:
    Namespace.objects.update(embedder="wordllama-256")
    home.refresh_from_db()
    facts = ("Maya bakes bread on Sundays", "Jonas drives a green tram", "Bread needs salt and patience")
    remember(home, [NewMemory(content=fact) for fact in facts], by="tests")
    sign_in(page)
    page.get_by_role("link", name="Judgements").first.click()
    page.get_by_role("textbox", name="Name").fill("Bread")
    lines = [json.dumps({"query": text}) for text in ("Who bakes bread?", "What does Jonas drive?")]
    body = {"name": "bread.jsonl", "mimeType": "application/x-ndjson", "buffer": "\n".join(lines).encode()}
    page.get_by_label("File, optional").set_input_files([body])  # type: ignore[list-item]
    page.get_by_role("button", name="Create the set").click()
    expect(page.get_by_role("status")).to_have_text("The set “Bread” was created: 2 queries.")
    page.wait_for_load_state()  # what is typed is heard from then on
    page.get_by_label("Query contains").fill("jonas")
    expect(page.locator(".judged > li")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=jonas"))
    page.get_by_label("recall").check()
    page.get_by_role("button", name="Pool the set").click()
    expect(page.locator("#pool-h")).to_contain_text("Pooling")
    run_job(home.id, Job.objects.get(kind=JobKind.POOL).id)
    expect(page.locator("#pool-h")).to_contain_text("to judge", timeout=15_000)
    page.locator("#pool").get_by_role("link", name="Judge").click()
    page.wait_for_url("**/judge/")  # with its scripts: keys are heard from then on
    state = page.get_by_role("status")
    first = page.locator(".candidate").inner_text()
    left = int(re.findall(r"\d+", state.inner_text())[0])
    page.keyboard.press("3")
    expect(state).to_contain_text(f"3 for “{first}”. {left - 1} pair")
    assert Judgement.objects.get().grade == 3
    page.keyboard.press("s")
    expect(state).to_contain_text("1 skipped")
    page.keyboard.press("0")
    expect(state).to_contain_text("0 for “")
    page.keyboard.press("u")
    expect(state).to_contain_text(f"{left - 1} pair")
    assert Judgement.objects.count() == 1
    for width in (380, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
