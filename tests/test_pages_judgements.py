"""The page of judged sets: what they hold, their queries, their pools, and judging pair by pair."""

import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries
from test_api_isolation import member_of
from test_model_rows import row, world
from test_pages import home, maya, sign_in  # noqa: F401

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace, Trace
from memories.models.choices import JobKind, QueryKind, Role, Status
from memories.pages.judgements import views as judgement_views
from memories.tuning import current_grades, judgement_pooling, judging_queue
from memories.tuning.judgement_store import NewQuery, store_queries
from memories.writing.remember import remember

pytestmark = pytest.mark.django_db

ADDRESS = "/here/judgements/"


@pytest.fixture
def here() -> Namespace:
    return world("here")


@pytest.fixture
def judged(here: Namespace) -> JudgementSet:
    """A set with a merged, a superseded and two forgotten answers."""
    made = JudgementSet.objects.create(namespace=here, name="Tea set", note="by hand")
    survivor, gone = row(Memory, here, content="Maya likes tea"), row(Memory, here, content="Maya likes milk")
    absorbed = row(Memory, here, status=Status.MERGED, merged_into_id=survivor.id)
    old = row(Memory, here, status=Status.SUPERSEDED, superseded_by_id=survivor.id)
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


def shown(client: Client, address: str = ADDRESS, **headers: str) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def told(text: str) -> str:
    """What a page says, without its markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", text.split('id="main"')[1]).split())


def one(judged: JudgementSet) -> str:
    return f"{ADDRESS}{judged.id}/"


def pool(judged: JudgementSet, *, k: int = 10) -> None:
    """As if two settings had found two memories for two queries each."""
    first, second = JudgedQuery.objects.filter(judgement_set_id=judged.id).order_by("id")[:2]
    memories = [row(Memory, judged.namespace, content=f"found {number}").id for number in range(2)]
    for query in (first, second):
        judgement_pooling.replace_pool(query, {memories[0]: {"blend": 1, "recall": 1}, memories[1]: {"blend": 2}})
    params = {"set": str(judged.id), "configs": ["blend", "recall"], "k": k}
    result = {"pool": {"unjudged": {"blend": 0.75, "recall": 1.0}}}
    row(Job, judged.namespace, kind=JobKind.POOL, state="done", params=params, result=result)


def test_an_empty_namespace_says_how_to_begin(here: Namespace) -> None:
    text = shown(member_of(here))
    assert "No judged sets yet" in text
    assert "press 0 to 3 on a hit" in text
    assert "style=" not in text
    assert "<form" not in shown(member_of(here, Role.READ)).split('id="main"')[1]


def test_the_sets_tell_what_they_hold_and_what_was_left_out(here: Namespace, judged: JudgementSet) -> None:
    pool(judged)
    text = told(shown(member_of(here)))
    graded = current_grades.load_grades(here, judged.id)
    tuned = sum(query.query.split == "tune" for query in graded.queries)
    assert f"{tuned} + {5 - tuned}" in text
    assert "1 unjudged" in text
    assert "2 forgotten" in text
    assert "✕ 1 without an answer" in text
    assert ".750" in text
    assert f"{sum(map(len, graded.grades.values()))} grades" in text


def test_a_set_tells_its_grades_as_they_hold_today(here: Namespace, judged: JudgementSet) -> None:
    page = shown(member_of(here), one(judged))
    text = told(page)
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
    words = member_of(here).get(f"{one(judged)}export/?by_content=1").getvalue().decode()
    assert "Maya likes milk" not in words
    assert "/here/lab/?query=What%20does%20Maya%20drink%3F&amp;user=maya" in page
    lost = told(shown(member_of(here), f"{one(judged)}?without_answers=1"))
    assert "With milk?" in lost
    assert "And before?" not in lost


def test_queries_are_chosen_by_words_part_kind_and_state(here: Namespace, judged: JudgementSet) -> None:
    member = member_of(here)

    def found(**chosen: str) -> list[str]:
        text = member.get(one(judged), chosen, headers={"HX-Request": "true"}).content.decode()
        assert "<h1" not in text
        return re.findall(r'<span class="text">(.*?)</span>', text)

    assert len(found()) == 5
    assert found(q="MILK") == ["With milk?"]
    assert found(kind="unanswerable") == ["Which sugar?"]
    assert found(category="taste") == ["What does Maya drink?"]
    assert found(unjudged="true") == ["Not judged yet"]
    wrong = member.get(one(judged), {"split": "x"})
    assert wrong.status_code == 400
    assert "must be one of tune, holdout; got &quot;x&quot;" in wrong.content.decode()


def test_a_huge_set_is_shown_by_page_in_a_known_number_of_questions(
    here: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = JudgementSet.objects.create(namespace=here, name="huge")
    known = [row(Memory, here).id for _ in range(3)]
    store_queries(made, [NewQuery(f"query {n}", grades=dict.fromkeys(known, 1)) for n in range(120)], by="maya")
    member = member_of(here)
    shown(member)
    with django_assert_max_num_queries(11):  # five of every page
        shown(member)
    with django_assert_max_num_queries(21):
        text = shown(member, one(made))
    assert text.count('class="counts num"') == 50
    assert ">Next</a>" in text


def test_the_pool_of_a_large_set_is_counted_after_the_page_has_come(
    here: Namespace, judged: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool(judged)
    monkeypatch.setattr(judgement_views, "MAX_IMMEDIATE_QUERIES", 4)
    member = member_of(here)
    page = shown(member, one(judged))
    assert "Counting the pool …" in page
    assert "4 pairs to judge" not in page
    assert "4 pairs to judge" in shown(member, one(judged), **{"HX-Request": "true", "HX-Target": "pool"})
    assert "4 pairs to judge" in shown(member, f"{one(judged)}?pool")


def test_a_set_is_made_from_a_file_or_not_at_all(here: Namespace) -> None:
    member, known = member_of(here), row(Memory, here).id
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


def test_trec_files_are_checked_and_imported(here: Namespace, judged: JudgementSet) -> None:
    member = member_of(here)
    row(Memory, here, metadata={"docid": "D1"})

    def send(qrels: str, **more: str) -> Any:
        files = {"file": io.BytesIO(b"q1\tSugar?\n"), "qrels": io.BytesIO(qrels.encode())}
        return member.post(f"{one(judged)}import/", {**files, "docid": "metadata.docid", **more})

    wrong = send("q1 0 D9 2\n")
    assert wrong.status_code == 400
    assert "qrels line 1" in wrong.content.decode()
    assert send("q1 0 D1 2\n", check="1").status_code == 302
    assert not JudgedQuery.objects.filter(text="Sugar?").exists()
    assert send("q1 0 D1 2\n").status_code == 302
    assert JudgedQuery.objects.get(text="Sugar?").judgements.get().grade == 2
    assert member.post(f"{one(judged)}import/").status_code == 400


def test_queries_are_drawn_from_traces(here: Namespace, judged: JudgementSet) -> None:
    member = member_of(here)
    row(Trace, here, query="Really asked", request={"user": "", "as_of": None})
    wrong = member.post(f"{one(judged)}sample/", {"days": "x", "most": "5", "way": "even"})
    assert wrong.status_code == 400
    assert "must be an integer; got &quot;x&quot;" in wrong.content.decode()
    assert member.post(f"{one(judged)}sample/", {"days": "2", "most": "5", "way": "even"}).status_code == 302
    assert JudgedQuery.objects.filter(text="Really asked").exists()
    assert "1 query sampled, 1 of them new" in shown(member, one(judged))


def test_a_set_is_saved_as_a_file(here: Namespace, judged: JudgementSet) -> None:
    answer = member_of(here, Role.READ).get(f"{one(judged)}export/?shape=qrels&current=1")
    assert answer["Content-Disposition"] == 'attachment; filename="Tea-set.qrels"'
    assert len(answer.getvalue().decode().splitlines()) == 3
    assert member_of(here).get(f"{one(judged)}export/?shape=x").status_code == 400


def test_a_pool_shows_how_much_of_each_setting_is_unjudged(here: Namespace, judged: JudgementSet) -> None:
    pool(judged)
    text = told(shown(member_of(here), one(judged)))
    shares = {one.name: one for one in judgement_pooling.unjudged_shares(here, judged.id, 10)}
    assert (shares["blend"].found, shares["recall"].found) == (4, 2)
    assert "4 pairs to judge" in text
    assert re.search(r"blend serves 4 4 1\.000", text)
    member = member_of(here)
    for sent in ({"k": "0"}, {"k": "5", "configs": "nobody"}, {"k": "x"}, {"k": "00509999"}):
        assert member.post(f"{one(judged)}pool/", sent).status_code == 400
    assert member.post(f"{one(judged)}pool/", {"k": "5", "configs": ["recall", "blend"]}).status_code == 302
    assert "A job is pooling the set" in shown(member, one(judged))


def test_a_pair_is_graded_skipped_and_taken_back(here: Namespace, judged: JudgementSet) -> None:
    pool(judged)
    member = member_of(here)
    judge = f"{one(judged)}judge/"
    first, second, third, *_ = judging_queue.unjudged_pairs(here, judged.id, 10)
    page = told(shown(member, judge))
    assert "4 pairs to judge" in page
    assert "found by blend 1st, recall 1st" in page

    def act(pair: Any, act: str, here: str = "") -> Any:
        body = {"act": act, "pair": pair.id, "query": pair.query_id, "memory": pair.memory_id, "here": here}
        return member.post(f"{one(judged)}grade/", body)

    answer = act(first, "2")
    kept = Judgement.objects.get(query_id=first.query_id, memory_id=first.memory_id)
    assert kept.grade == 2
    assert kept.judged_by.startswith("member")
    after = told(shown(member, answer["Location"]))
    assert "2 for “found 0”. 3 pairs to judge." in after
    skipped = act(second, "skip")
    assert "3 pairs to judge, 1 skipped" in told(shown(member, skipped["Location"]))
    assert f'name="pair" value="{second.id}"' in shown(member, judge)
    assert f'name="pair" value="{third.id}"' in shown(member, skipped["Location"])
    act(first, "undo")
    assert not Judgement.objects.filter(query_id=first.query_id, memory_id=first.memory_id).exists()
    refused = act(first, "4")
    assert refused.status_code == 400
    assert "must be one of 0, 1, 2, 3, skip, undo" in refused.content.decode()
    assert member.get(f"{judge}?skip=x&last=nonsense").status_code == 200


def test_a_set_without_a_pool_says_so_where_pairs_are_judged(here: Namespace, judged: JudgementSet) -> None:
    assert "There is nothing to judge yet" in shown(member_of(here), f"{one(judged)}judge/")


def test_readers_look_and_strangers_see_nothing(here: Namespace, judged: JudgementSet) -> None:
    pool(judged)
    reader, stranger = member_of(here, Role.READ), member_of(world("there"))
    for part in ("", "judge/"):
        assert 'method="post"' not in shown(reader, f"{one(judged)}{part}").split('id="main"')[1]
        assert stranger.get(f"{one(judged)}{part}").status_code == 404
        assert member_of(Namespace.objects.get(slug="there")).get(f"/there/judgements/{judged.id}/").status_code == 404
    for part in ("delete/", "sample/", "grade/", "import/", "pool/"):
        assert reader.post(f"{one(judged)}{part}").status_code == 403
        assert stranger.post(f"{one(judged)}{part}").status_code == 404
    assert reader.post(f"{ADDRESS}new/", {"name": "x"}).status_code == 403
    assert member_of(here).post(f"{one(judged)}delete/").status_code == 302
    assert not JudgedQuery.objects.exists()


def test_a_person_makes_a_set_pools_it_and_judges_by_keys(
    page: Page,
    home: Namespace,  # noqa: F811
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
