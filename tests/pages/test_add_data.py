"""Add data: one memory, a pasted conversation, a file from upload to import; and the export beside it."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.jobs.attempt import run_job
from memories.jobs.scheduled import delete_old_uploads
from memories.models import Job, Memory, Namespace, Turn, Upload
from memories.models.choices import JobKind, JobState
from memories.web import uploads
from tests.support.access import member_of
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db
TALK = "User: I moved to Lyon in May.\nAssistant: How do you like it?\nUser: My favourite food is ramen."


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")


@pytest.fixture
def writer(namespace: Namespace) -> Client:
    return member_of(namespace, "write")


def html(response: Any, status: int = 200) -> str:
    assert response.status_code == status, response.content
    return str(response.content.decode())


def upload(client: Client, name: str, data: Any) -> Any:
    """Upload a file, JSON unless it is bytes, and follow to its page."""
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return client.post("/here/add/file/", {"file": SimpleUploadedFile(name, content)}, follow=True)


def run_import(client: Client) -> str:
    """Import the last upload as a worker would; its page afterwards."""
    stored = Upload.objects.order_by("-id").first()
    assert stored is not None
    assert client.post(f"/here/add/files/{stored.id}/", {"act": "import"}).status_code == 302
    stored.refresh_from_db()
    run_job(stored.namespace_id, stored.job_id)  # type: ignore[arg-type]
    return html(client.get(f"/here/add/files/{stored.id}/"))


def contents(namespace: Namespace) -> list[str]:
    """The active facts, by their text."""
    facts = Memory.objects.within(namespace).filter(status="active", level="fact")
    return sorted(facts.values_list("content", flat=True))


def test_one_memory_is_stored_and_shown(namespace: Namespace, writer: Client) -> None:
    form = {"content": "Ada plays chess", "type": "Fact", "tags": "games, people", "user": "ada"}
    page = html(writer.post("/here/add/memory/", form, follow=True))
    assert "Ada plays chess" in page
    memory = Memory.objects.within(namespace).get()
    assert (memory.user, sorted(memory.tag_names)) == ("ada", ["games", "people"])


def test_a_memory_without_text_is_refused_and_what_was_typed_stays(namespace: Namespace, writer: Client) -> None:
    page = html(writer.post("/here/add/memory/", {"content": " ", "tags": "kept"}), 400)
    assert "content" in page
    assert 'value="kept"' in page
    assert not Memory.objects.exists()


def test_a_conversation_is_previewed_and_then_stored(namespace: Namespace, writer: Client) -> None:
    form = {"transcript": TALK, "session": "call", "user": "ada"}
    preview = html(writer.post("/here/add/conversation/", {**form, "act": "preview"}))
    assert "3 turns" in preview
    assert "memories found" in preview
    assert not Turn.objects.exists()
    assert not Memory.objects.exists()
    html(writer.post("/here/add/conversation/", {**form, "act": "store"}, follow=True))
    assert Turn.objects.within(namespace).count() == 3
    again = html(writer.post("/here/add/conversation/", {**form, "act": "preview"}))
    assert "after 3 that are stored" in again


def test_a_text_that_is_no_conversation_is_refused_with_the_reason(namespace: Namespace, writer: Client) -> None:
    page = html(writer.post("/here/add/conversation/", {"transcript": "a note", "session": "s"}), 400)
    assert "must begin each turn with its speaker" in page
    assert "a note</textarea>" in page


def test_a_file_of_another_system_is_checked_tried_and_imported(namespace: Namespace, writer: Client) -> None:
    rows = [{"id": str(n), "memory": f"Ada visited city {n}", "user_id": "ada"} for n in range(3)]
    page = html(upload(writer, "mem0.json", {"results": [*rows, {"id": "x", "memory": ""}]}))
    assert "an export of mem0" in page
    assert "3 of 4 rows can be imported" in page
    assert "content" in page
    assert not Memory.objects.exists()
    stored = Upload.objects.get()
    tried = html(writer.post(f"/here/add/files/{stored.id}/", {"act": "try"}))
    assert "3 would be stored" in " ".join(tried.split())
    assert not Memory.objects.exists()
    done = run_import(writer)
    assert "Imported" in done
    assert "3 stored" in done
    assert "1 refused" in done
    assert contents(namespace) == [row["memory"] for row in rows]
    stored.refresh_from_db()
    assert stored.rows == []


def test_the_columns_of_a_table_are_guessed_and_can_be_chosen(namespace: Namespace, writer: Client) -> None:
    page = html(upload(writer, "notes.csv", b"headline,who\nAda likes tea,ada\nBob runs,bob\n"))
    assert '<option value="headline" selected>' in page
    stored = Upload.objects.get()
    columns = {"columns": "1", "column.content": "headline", "column.user": "who", "act": "map"}
    page = html(writer.post(f"/here/add/files/{stored.id}/", columns))
    assert "2 of 2 rows can be imported" in page
    run_import(writer)
    assert contents(namespace) == ["Ada likes tea", "Bob runs"]
    assert set(Memory.objects.within(namespace).values_list("user", flat=True)) == {"ada", "bob"}


def test_conversations_of_a_file_become_turns(namespace: Namespace, writer: Client) -> None:
    turns = [{"role": "user", "text": "I moved to Lyon in May."}, {"role": "assistant", "text": "Noted."}]
    html(upload(writer, "talks.ndjson", {"session": "call", "turns": turns}))
    assert "2 turns" in run_import(writer)
    assert Turn.objects.within(namespace).count() == 2


def test_an_import_that_was_interrupted_goes_on_where_it_stopped(
    namespace: Namespace, writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "BATCH_SIZE", 2)
    html(upload(writer, "own.json", [{"content": f"Ada visited city {n}"} for n in range(5)]))
    stored, store_rows = Upload.objects.get(), uploads.store_rows
    calls: list[int] = []

    def fail_at_the_second(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise OSError("the disk is full")
        return store_rows(*args, **more)

    monkeypatch.setattr(uploads, "store_rows", fail_at_the_second)
    job = uploads.submit_import(stored, by="tests")
    Job.objects.filter(id=job.id).update(attempts=4)
    run_job(namespace.id, job.id)
    assert (Job.objects.get(id=job.id).state, len(contents(namespace))) == (JobState.FAILED, 2)
    page = html(writer.get(f"/here/add/files/{stored.id}/"))
    assert "The import stopped" in page
    assert "the disk is full" in page
    assert "Continue" in page
    run_import(writer)
    assert len(contents(namespace)) == 5
    assert len(calls) == 4


def test_an_import_is_started_once_however_often_the_button_is_pressed(namespace: Namespace, writer: Client) -> None:
    html(upload(writer, "own.json", [{"content": "Ada plays chess"}]))
    stored = Upload.objects.get()
    for _ in range(2):
        writer.post(f"/here/add/files/{stored.id}/", {"act": "import"})
    assert Job.objects.filter(kind=JobKind.IMPORT).count() == 1
    run_import(writer)
    assert Job.objects.filter(kind=JobKind.IMPORT).count() == 1


def test_each_conversation_of_a_file_is_a_batch_of_its_own() -> None:
    memory, talk = {"content": "a"}, {"session": "s", "turns": []}
    rows = [memory, memory, talk, talk, memory]
    assert uploads.next_batch(rows) == [memory, memory]
    assert uploads.next_batch(rows[2:]) == [talk]
    assert uploads.next_batch(rows[4:]) == [memory]


def test_a_page_that_polls_an_import_does_not_load_the_file(namespace: Namespace, writer: Client) -> None:
    html(upload(writer, "own.json", [{"content": "Ada plays chess"}]))
    stored = Upload.objects.get()
    uploads.submit_import(stored, by="tests")
    with CaptureQueriesContext(connection) as queries:
        html(writer.get(f"/here/add/files/{stored.id}/", headers={"HX-Request": "true"}))
    assert not [query["sql"] for query in queries if '"memories_upload"."rows"' in query["sql"]]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"{", "must be JSON"),
        ("a.csv", b"\xff", "must be UTF-8"),
        ("a.json", b"[]", "has no rows"),
        ("a.json", b'[{"content": "a", "n": 1' + b"0" * 30 + b"}]", "Integer exceeds 64-bit range"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    namespace: Namespace, writer: Client, name: str, data: bytes, message: str
) -> None:
    assert message in html(upload(writer, name, data), 400)
    assert not Upload.objects.exists()


def test_a_file_above_the_limit_is_refused(
    namespace: Namespace, writer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.pages.add_data.views.MAX_BYTES", 10)
    assert "must have at most" in html(upload(writer, "a.json", [{"content": "a longer text"}]), 400)


def test_a_reader_sees_no_forms_and_cannot_post(namespace: Namespace) -> None:
    reader = member_of(namespace, "read")
    assert "<form" not in html(reader.get("/here/add/")).partition("<main")[2]
    for path in ("memory", "conversation", "file"):
        assert reader.post(f"/here/add/{path}/").status_code == 403
    assert reader.get("/here/add/export/").status_code == 403


def test_an_upload_of_another_namespace_is_not_found(namespace: Namespace, writer: Client) -> None:
    other = Namespace.objects.create(slug="other", embedder="wordllama-256")
    theirs = uploads.store_upload(other, "a.json", b'[{"content": "secret"}]', by="tests")
    assert writer.get(f"/here/add/files/{theirs.id}/").status_code == 404
    assert writer.get(f"/here/add/files/{uuid4()}/").status_code == 404


def test_old_uploads_are_deleted_unless_their_import_runs(namespace: Namespace) -> None:
    old, running, new = (uploads.store_upload(namespace, "a.json", b'[{"content": "a"}]', by="t") for _ in range(3))
    job = uploads.submit_import(running, by="t")
    before = timezone.now() - timedelta(days=2)
    Upload.objects.filter(id__in=[old.id, running.id]).update(created_at=before)
    assert delete_old_uploads() == 1
    assert set(Upload.objects.values_list("id", flat=True)) == {running.id, new.id}
    Job.objects.filter(id=job.id, kind=JobKind.IMPORT).update(state=JobState.DONE)
    assert delete_old_uploads() == 1


def test_an_export_is_downloaded_by_an_admin(namespace: Namespace) -> None:
    admin = member_of(namespace)
    admin.post("/here/add/memory/", {"content": "Ada plays chess"})
    response = admin.get("/here/add/export/")
    assert response["Content-Disposition"] == 'attachment; filename="here.ndjson"'
    exported = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert "recall" in json.loads(exported[0])
    assert any("Ada plays chess" in line for line in exported)


def test_an_empty_namespace_leads_to_the_page(namespace: Namespace, writer: Client) -> None:
    for path in ("/here/", "/here/memories/"):
        assert 'href="/here/add/"' in html(writer.get(path)).partition("<main")[2]


@pytest.mark.django_db(transaction=True)
def test_a_person_pastes_a_conversation_in_the_browser(page: Page, home: Namespace) -> None:
    sign_in(page)
    page.get_by_role("main").get_by_role("link", name="Add data").click()
    page.get_by_label("Each turn begins with its speaker").fill(TALK)
    page.get_by_label("Session").fill("call")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="3 turns")).to_be_visible()
    page.get_by_role("button", name="Store 3 turns").click()
    expect(page.get_by_role("status")).to_contain_text("Stored 3 turns of call")
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/home/add/")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
