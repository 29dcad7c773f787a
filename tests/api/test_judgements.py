"""Judgement sets over REST."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace, Trace
from memories.models.choices import JobKind, Role, Status
from memories.tuning.splits import split_of
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace, row

pytestmark = pytest.mark.django_db

LINES = "application/x-ndjson"


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def headers(namespace: Namespace) -> dict[str, str]:
    return key_to(namespace, Role.WRITE)


@pytest.fixture
def judgement_set(namespace: Namespace) -> JudgementSet:
    return JudgementSet.objects.create(namespace=namespace, name="set")


def send_request(address: str, headers: dict[str, str], body: Any = None, type: str = "application/json") -> Any:
    if body is None:
        return Client().get(f"/api/v1/here/judgements/{address}", headers=headers)
    return Client().post(f"/api/v1/here/judgements/{address}", body, type, headers=headers)


def test_a_set_is_made_named_listed_and_deleted(headers: dict[str, str]) -> None:
    made = send_request("", headers, {"name": "mine", "note": "by hand"})
    assert made.status_code == 201
    id = made.json()["id"]
    again = problem(send_request("", headers, {"name": "mine"}), 409)
    assert (again["code"], again["errors"][0]["at"]) == ("name_taken", "name")
    address = f"/api/v1/here/judgements/{id}/"
    changed = Client().patch(address, {"name": "ours"}, "application/json", headers=headers)
    assert (changed.json()["name"], changed.json()["note"]) == ("ours", "by hand")
    assert [one["name"] for one in send_request("", headers).json()["results"]] == ["ours"]
    assert Client().delete(address, headers=headers).status_code == 204
    assert problem(Client().get(address, headers=headers), 404)["detail"].startswith("There is no judgement set")


def test_the_same_set_is_made_once_under_an_idempotency_key(headers: dict[str, str]) -> None:
    twice = [send_request("", headers | {"Idempotency-Key": "k"}, {"name": "mine"}) for _ in range(2)]
    assert [one.status_code for one in twice] == [201, 201]
    assert JudgementSet.objects.count() == 1


def test_queries_come_with_grades_and_are_found_by_part_kind_category_and_state(
    namespace: Namespace, headers: dict[str, str], judgement_set: JudgementSet
) -> None:
    known = row(Memory, namespace).id
    queries = [
        {"query": f"query {number}", "category": "odd" if number % 2 else "even"}
        | ({"judgements": [{"memory": str(known), "grade": number % 4}]} if number < 6 else {})
        for number in range(10)
    ]
    queries.append({"query": "never", "kind": "unanswerable", "judgements": [{"memory": str(known), "grade": 0}]})
    stored = send_request(f"{judgement_set.id}/queries/", headers, {"queries": queries})
    assert (stored.status_code, stored.json()) == (201, {"queries": 11, "added": 11, "grades": 7})

    def query_texts(**chosen: str) -> list[str]:
        answer = Client().get(f"/api/v1/here/judgements/{judgement_set.id}/queries/", chosen, headers=headers).json()
        return [one["query"] for one in answer["results"]]

    assert len(query_texts()) == 11
    assert query_texts(kind="unanswerable") == ["never"]
    assert query_texts(category="odd") == [f"query {number}" for number in (9, 7, 5, 3, 1)]
    assert query_texts(unjudged="1") == [f"query {number}" for number in (9, 8, 7, 6)]
    assert set(query_texts(split="holdout")) == {
        one["query"] for one in queries if split_of(str(one["query"])) == "holdout"
    }
    assert query_texts(q="NEV") == ["never"]
    assert query_texts(without_answers="1") == []
    Memory.objects.update(status=Status.FORGOTTEN)
    assert query_texts(without_answers="1") == ["query 5", "query 3", "query 2", "query 1"]
    holds = send_request(f"{judgement_set.id}/", headers).json()["holds"]
    assert (holds["queries"], holds["unjudged"], holds["without_answers"], holds["grades"]) == (11, 4, 4, 0)
    assert holds["left_out"] == {"forgotten": 7}
    assert holds["kinds"] == {"answerable": 10, "unanswerable": 1}


def test_the_queries_of_a_set_are_paged(headers: dict[str, str], judgement_set: JudgementSet) -> None:
    send_request(f"{judgement_set.id}/queries/", headers, {"queries": [{"query": f"q{number}"} for number in range(5)]})
    seen, address = [], f"/api/v1/here/judgements/{judgement_set.id}/queries/?limit=2"
    while address:
        page = Client().get(address, headers=headers).json()
        seen += [one["query"] for one in page["results"]]
        address = page["next"]
    assert seen == ["q4", "q3", "q2", "q1", "q0"]


def test_an_invalid_query_is_named_by_its_place_and_nothing_is_stored(
    headers: dict[str, str], judgement_set: JudgementSet
) -> None:
    wrong = problem(
        send_request(f"{judgement_set.id}/queries/", headers, {"queries": [{"query": "fine"}, {"query": ""}]}), 400
    )
    assert [one["at"] for one in wrong["errors"]] == ["queries.1.query"]
    assert not JudgedQuery.objects.exists()
    for body in ({}, {"queries": []}, {"queries": "x"}, {"queries": [{"query": "q"}] * 1_001}, {"query": "q"}):
        problem(send_request(f"{judgement_set.id}/queries/", headers, body), 400)


def test_pairs_are_graded_and_strangers_refused(
    namespace: Namespace, headers: dict[str, str], judgement_set: JudgementSet
) -> None:
    query = row(JudgedQuery, namespace, judgement_set=judgement_set)
    elsewhere, known, foreign = (
        row(JudgedQuery, namespace),
        row(Memory, namespace),
        row(Memory, empty_namespace("there")),
    )
    body = {"query": str(query.id), "memory": str(known.id), "grade": 1}
    assert (
        send_request(f"{judgement_set.id}/grades/", headers, {"grades": [body, body | {"grade": 3}]}).status_code == 200
    )
    assert Judgement.objects.get().grade == 3
    wrong = {
        "grades": [body | {"query": str(elsewhere.id)}, body | {"memory": str(foreign.id)}, body | {"grade": 2}],
    }
    data = problem(send_request(f"{judgement_set.id}/grades/", headers, wrong), 400)
    assert [one["at"] for one in data["errors"]] == ["grades.0.query", "grades.1.memory"]
    assert Judgement.objects.get().grade == 3
    assert problem(send_request(f"{judgement_set.id}/grades/", headers, {"grades": [body | {"grade": 4}]}), 400)


def test_a_file_goes_out_and_into_another_set(
    namespace: Namespace, headers: dict[str, str], judgement_set: JudgementSet
) -> None:
    known = row(Memory, namespace, content="Maya likes tea", metadata={"docid": "D1"}).id
    lines = json.dumps({"query": "Tea?", "judgements": [{"memory": {"content": "Maya likes tea"}, "grade": 3}]})
    dry = send_request(f"{judgement_set.id}/import/?dry_run=1", headers, lines, LINES)
    assert (dry.json(), JudgedQuery.objects.count()) == ({"queries": 1, "added": 0, "grades": 1}, 0)
    assert send_request(f"{judgement_set.id}/import/", headers, lines, LINES).json()["added"] == 1
    out = send_request(f"{judgement_set.id}/export/", headers)
    assert out["Content-Type"] == LINES
    assert json.loads(out.getvalue())["judgements"] == [{"memory": str(known), "grade": 3}]
    query = JudgedQuery.objects.get()
    qrels = send_request(f"{judgement_set.id}/export/?shape=qrels", headers)
    assert (qrels["Content-Type"], qrels.getvalue().decode()) == (
        "text/plain; charset=utf-8",
        f"{query.id} 0 {known} 3\n",
    )
    trec = {"queries": "q1\tCoffee?", "qrels": "q1 0 D1 1", "docid": "metadata.docid"}
    assert send_request(f"{judgement_set.id}/import/", headers, trec).json() == {"queries": 1, "added": 1, "grades": 1}
    refused = problem(
        send_request(f"{judgement_set.id}/import/", headers, trec | {"qrels": "q1 0 D9 1", "docid": "x"}), 400
    )
    assert refused["errors"][0]["at"] == "docid"
    broken = problem(send_request(f"{judgement_set.id}/import/", headers, lines + "\n{", LINES), 400)
    assert broken["errors"][0]["at"] == "line 2.body"
    assert JudgedQuery.objects.count() == 2
    assert problem(send_request(f"{judgement_set.id}/import/", headers | {"Idempotency-Key": "k"}, lines, LINES), 400)


def test_queries_are_sampled_from_traces_over_rest(
    namespace: Namespace, headers: dict[str, str], judgement_set: JudgementSet
) -> None:
    row(Trace, namespace, query="Asked", request={"user": "", "as_of": None})
    assert send_request(f"{judgement_set.id}/sample/", headers, {"days": 3, "way": "even"}).json()["added"] == 1
    assert problem(send_request(f"{judgement_set.id}/sample/", headers, {"days": 0}), 400)


def test_a_pool_is_started_as_a_job_and_watched(headers: dict[str, str], judgement_set: JudgementSet) -> None:
    answer = send_request(f"{judgement_set.id}/pool/", headers, {"configs": ["recall"], "k": 3})
    assert answer.status_code == 202
    job = Job.objects.get(kind=JobKind.POOL)
    assert job.params == {"set": str(judgement_set.id), "configs": ["recall"], "k": 3}
    pool = send_request(f"{judgement_set.id}/pool/", headers).json()
    assert (pool["job"]["id"], pool["configs"], pool["left"]) == (str(job.id), [], 0)
    wrong = problem(send_request(f"{judgement_set.id}/pool/", headers, {"configs": ["nobody"]}), 400)
    assert wrong["errors"][0]["at"] == "configs"


def test_readers_read_and_others_stay_out(namespace: Namespace, judgement_set: JudgementSet) -> None:
    reader = key_to(namespace, Role.READ)
    assert send_request(f"{judgement_set.id}/", reader).status_code == 200
    assert problem(send_request(f"{judgement_set.id}/grades/", reader, {"grades": []}), 403)
    foreign = JudgementSet.objects.create(namespace=empty_namespace("there"), name="theirs")
    for part in ("", "queries/", "export/", "pool/"):
        assert problem(send_request(f"{foreign.id}/{part}", reader), 404)


def test_a_list_of_sets_makes_a_known_number_of_sql_queries(
    namespace: Namespace, headers: dict[str, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        one = JudgementSet.objects.create(namespace=namespace, name=f"set {number}")
        row(Judgement, namespace, query=row(JudgedQuery, namespace, judgement_set=one), grade=1)
    send_request("", headers)
    with django_assert_num_queries(4):  # the key with its namespace, the sets, two tallies
        send_request("", headers)


def test_commands_bring_files_in_and_out(namespace: Namespace, tmp_path: Any) -> None:
    known = row(Memory, namespace).id
    file, queries, qrels = tmp_path / "tea.jsonl", tmp_path / "q.tsv", tmp_path / "q.qrels"
    file.write_text(json.dumps({"query": "Tea?", "judgements": [{"memory": str(known), "grade": 2}]}) + "\n")
    output = io.StringIO()
    call_command("import_judgements", "here", file, "--dry-run", stdout=output)
    assert "1 queries with 1 grades can be stored in “tea”; nothing was stored." in output.getvalue()
    assert not JudgementSet.objects.exists()
    call_command("import_judgements", "here", file, stdout=output)
    assert JudgementSet.objects.get().name == "tea"
    call_command("export_judgements", "here", "tea", queries, "--qrels", qrels, stderr=io.StringIO())
    call_command("import_judgements", "here", queries, "--qrels", qrels, "--set", "copy", stdout=output)
    assert list(Judgement.objects.values_list("memory_id", "grade")) == [(known, 2)] * 2
    out = io.StringIO()
    call_command("export_judgements", "here", "copy", stdout=out)
    assert json.loads(out.getvalue())["query"] == "Tea?"
    file.write_text('{"query": ""}\n')
    errors = io.StringIO()
    with pytest.raises(CommandError, match="1 errors: nothing was stored"):
        call_command("import_judgements", "here", file, stderr=errors)
    assert "line 1.query: must not be empty" in errors.getvalue()
    for arguments in (("import_judgements", "here", tmp_path / "no"), ("export_judgements", "here", "nothing")):
        with pytest.raises(CommandError):
            call_command(*arguments)
