"""The Keys, Members and Settings pages."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.models import ApiKey, Job, Membership, Namespace
from memories.models.choices import JobKind, Role
from memories.web import memberships
from memories.web.api_keys import KeyEndedError, issue_key, revoke_key, rotate_key
from memories.writing import rebuild
from memories.writing.remember import remember
from tests.support.access import key_to, member_of
from tests.support.rows import empty_namespace
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")


@pytest.fixture
def admin(namespace: Namespace) -> Client:
    return member_of(namespace)


def text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.content
    return str(answer.content.decode())


def secret(page: str) -> str:
    found = re.search(r'id="secret" value="(rk_[^"]+)"', page)
    assert found
    return found[1]


def opens(plain: str) -> int:
    answer = Client().get("/api/v1/here/", headers={"Authorization": f"Bearer {plain}"})
    return answer.status_code


def test_a_key_is_shown_once_and_works(namespace: Namespace, admin: Client) -> None:
    answer = admin.post("/here/keys/", {"name": "night agent", "role": "read", "days": "30"})
    plain = secret(text(answer, 201))
    assert "no-store" in answer["Cache-Control"]
    assert opens(plain) == 200
    listed = text(admin.get("/here/keys/"))
    assert plain not in listed
    assert f"{plain[:9]}…" in listed
    assert "1 active key" in listed
    key = ApiKey.objects.get()
    assert key.expires_at is not None
    assert key.expires_at - key.created_at == timedelta(days=30)
    assert key.last_used_at is not None


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"name": "", "role": "read"}, "<b>name</b> is required"),
        ({"name": "x", "role": "owner"}, "must be one of read, write, admin; got &quot;owner&quot;"),
        ({"name": "kept as typed", "role": "read", "days": "0"}, "<b>days</b> must be at least 1"),
    ],
)
def test_a_key_that_cannot_be_is_refused_and_the_form_stays(
    namespace: Namespace, admin: Client, form: dict[str, str], wrong: str
) -> None:
    page = text(admin.post("/here/keys/", form), 400)
    assert wrong in page
    assert f'name="name" value="{form["name"]}"' in page
    assert not ApiKey.objects.exists()


def test_a_revoked_key_opens_nothing_and_ends_once(namespace: Namespace, admin: Client) -> None:
    key, plain = issue_key(namespace, name="agent", role=Role.WRITE)
    assert opens(plain) == 200
    admin.post(f"/here/keys/{key.id}/revoke/")
    assert opens(plain) == 401
    page = text(admin.get("/here/keys/"))
    assert "is revoked." in page
    assert "✕ revoked" in page
    with pytest.raises(KeyEndedError, match="has already ended"):
        revoke_key(namespace, key)
    assert "has already ended" in text(admin.post(f"/here/keys/{key.id}/rotate/", follow=True))


def test_a_rotated_key_has_a_successor_like_it_and_a_day_left(namespace: Namespace, admin: Client) -> None:
    key, plain = issue_key(namespace, name="agent", role=Role.WRITE, lifetime=timedelta(days=90))
    page = text(admin.post(f"/here/keys/{key.id}/rotate/"), 201)
    assert opens(secret(page)) == opens(plain) == 200
    new = ApiKey.objects.exclude(id=key.id).get()
    assert (new.name, new.role, new.rotated_from_id) == ("agent", "write", key.id)
    assert new.expires_at is not None
    assert new.expires_at - new.created_at == timedelta(days=90)
    key.refresh_from_db()
    assert key.expires_at is not None
    assert key.expires_at <= timezone.now() + timedelta(days=1)


def test_a_key_that_ends_sooner_is_not_prolonged_by_rotating(namespace: Namespace) -> None:
    key, _ = issue_key(namespace, name="agent", role=Role.READ, lifetime=timedelta(hours=1))
    rotate_key(namespace, key)
    before = key.expires_at
    key.refresh_from_db()
    assert key.expires_at == before


def test_who_is_no_admin_sees_the_lists_and_changes_nothing(namespace: Namespace) -> None:
    key, plain = issue_key(namespace, name="agent", role=Role.READ)
    writer = member_of(namespace, Role.WRITE)
    user = Membership.objects.get(namespace=namespace).user_id
    for address in ("keys", "members", "settings"):
        page = text(writer.get(f"/here/{address}/")).split('id="main"')[1]
        assert "<button" not in page
    for address in (
        "keys/",
        f"keys/{key.id}/rotate/",
        f"keys/{key.id}/revoke/",
        "members/",
        f"members/{user}/role/",
        f"members/{user}/remove/",
        "settings/",
        "settings/embedder/",
        "settings/new/",
    ):
        refused = writer.post(f"/here/{address}", {"name": "x", "role": "admin", "slug": "mine", "title": "x"})
        assert "This needs the role admin" in text(refused, 403), address
    assert opens(plain) == 200
    assert ApiKey.objects.count() == Namespace.objects.count() == 1


def test_a_foreign_namespace_and_its_keys_do_not_exist(namespace: Namespace, admin: Client) -> None:
    there = empty_namespace("there")
    key, _ = issue_key(there, name="theirs", role=Role.READ)
    for address in ("there/keys/", "there/members/", "there/settings/"):
        assert admin.get(f"/{address}").status_code == 404
    assert admin.post(f"/here/keys/{key.id}/revoke/").status_code == 404
    assert admin.post(f"/there/keys/{key.id}/revoke/").status_code == 404
    assert "theirs" not in text(admin.get("/here/keys/"))


def test_members_are_let_in_changed_and_sent_away(namespace: Namespace, admin: Client) -> None:
    jonas = User.objects.create_user("jonas")
    page = text(admin.post("/here/members/", {"username": "jonas", "role": "read"}, follow=True))
    assert "jonas is a member now, with the role read." in page
    again = text(admin.post("/here/members/", {"username": "jonas", "role": "write"}), 400)
    assert "must not be a member already; got “jonas”" in again
    unknown = text(admin.post("/here/members/", {"username": "nobody", "role": "write"}), 400)
    assert "must be an existing user; got “nobody”" in unknown
    admin.post(f"/here/members/{jonas.pk}/role/", {"role": "write"})
    assert Membership.objects.get(user=jonas).role == "write"
    assert "must be one of" in text(admin.post(f"/here/members/{jonas.pk}/role/", {"role": "king"}), 400)
    assert "jonas is no longer a member" in text(admin.post(f"/here/members/{jonas.pk}/remove/", follow=True))
    assert not Membership.objects.filter(user=jonas).exists()
    assert "There is no such member" in text(admin.post(f"/here/members/{jonas.pk}/remove/", follow=True))


def test_the_last_admin_stays_an_admin_and_a_member(namespace: Namespace, admin: Client) -> None:
    last = Membership.objects.get(namespace=namespace)
    assert "last admin, cannot be removed" in text(admin.get("/here/members/"))
    for address, form in (("role", {"role": "read"}), ("remove", {})):
        page = text(admin.post(f"/here/members/{last.user_id}/{address}/", form, follow=True))
        assert "is the last admin: make somebody else an admin first." in page
    memberships.change_member_role(namespace, last.user_id, Role.ADMIN)
    last.refresh_from_db()
    assert last.role == Role.ADMIN


@pytest.mark.django_db(transaction=True)
def test_two_admins_cannot_send_each_other_away_at_once(namespace: Namespace) -> None:
    users = [User.objects.create_user(name) for name in ("first", "second")]
    for user in users:
        Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)

    def leave(user: User) -> bool:
        try:
            memberships.remove_member(namespace, user.pk)
        except memberships.MemberError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(leave, users)) == [False, True]
    assert Membership.objects.filter(namespace=namespace, role=Role.ADMIN).count() == 1


def test_settings_are_saved_and_wrong_ones_stay_as_typed(namespace: Namespace, admin: Client) -> None:
    admin.post("/here/settings/", {"title": "Home again", "mode": "procedural", "redacts": "true"})
    namespace.refresh_from_db()
    assert (namespace.title, namespace.mode, namespace.redacts) == ("Home again", "procedural", True)
    assert "contextdb, preset procedural</a>" in text(admin.get("/here/settings/"))
    assert "contextdb, preset procedural</a>" in text(admin.get("/here/"))
    page = text(admin.post("/here/settings/", {"title": "Odd", "mode": "nonsense"}), 400)
    assert "<b>mode</b> must be one of" in page
    assert 'name="title" value="Odd"' in page
    assert "<b>title</b> must not be empty" in text(admin.post("/here/settings/", {"mode": "general"}), 400)


def test_a_namespace_is_founded_by_an_admin_who_becomes_its_own(namespace: Namespace, admin: Client) -> None:
    page = text(
        admin.post("/here/settings/new/", {"slug": "boat", "title": "The boat", "mode": "procedural"}, follow=True)
    )
    assert "Created the namespace boat, with you as admin." in page
    founded = Membership.objects.get(namespace__slug="boat")
    assert (founded.role, founded.namespace.mode) == (Role.ADMIN, "procedural")
    for slug, wrong in (("boat", "exists"), ("docs", "must not be a word"), ("a b", "valid"), ("", "is required")):
        assert wrong in text(admin.post("/here/settings/new/", {"slug": slug}), 400)
    with pytest.raises(CommandError, match="must not be a word of the site's own URLs"):
        call_command("create_namespace", "docs")


def test_the_embedder_changes_in_view_and_without_a_gap(
    namespace: Namespace, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "GRACE_PERIOD", timedelta())
    remember(namespace, [NewMemory(content="Plays the cello")], by="tests")
    refused = text(admin.post("/here/settings/embedder/", {"embedder": "word2vec"}), 400)
    assert "must be one of all-MiniLM-L6-v2" in refused
    assert 'value="word2vec"' in refused
    admin.post("/here/settings/embedder/", {"embedder": "all-MiniLM-L6-v2"})
    waiting = text(admin.get("/here/settings/", headers={"HX-Request": "true"}))
    assert "waiting for a worker" in waiting
    assert "recall:poll" in waiting
    assert "<h1" not in waiting
    run_job(namespace.id, Job.objects.get(kind=JobKind.REEMBED).id)
    done = text(admin.get("/here/settings/"))
    assert "<b>all-MiniLM-L6-v2</b> is in use since" in done
    assert "1 vector computed" in done
    assert "recall:poll" not in done
    Job.objects.update(state="failed", error="EmbedderError: no key")
    assert "The change to all-MiniLM-L6-v2 failed: EmbedderError: no key" in text(admin.get("/here/settings/"))


def test_the_pages_run_a_known_number_of_sql_queries(
    namespace: Namespace, admin: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        key_to(namespace)
    admin.get("/here/keys/")
    for address in ("keys", "members", "settings"):
        with django_assert_max_num_queries(7):  # session, user, membership, role, namespaces, and the page's own
            assert "style=" not in text(admin.get(f"/here/{address}/"))


def test_a_key_is_made_works_is_revoked_and_works_no_more(
    page: Page,
    home: Namespace,
) -> None:
    sign_in(page)
    page.get_by_role("link", name="Keys").first.click()
    expect(page.get_by_text("No keys yet")).to_be_visible()
    page.get_by_role("textbox", name="Name", exact=True).fill("night agent")
    page.get_by_role("combobox", name="Role").select_option("write")
    page.get_by_role("button", name="Create the key").click()
    plain = page.get_by_label("The key", exact=True).input_value()
    assert plain.startswith("rk_")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()

    def api_status() -> int:
        headers = {"Authorization": f"Bearer {plain}"}
        return page.request.get("/api/v1/home/", headers=headers).status

    assert api_status() == 200
    page.goto("/home/keys/")
    assert plain not in page.content()
    for width in (380, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for address in ("/home/members/", "/home/settings/", "/home/keys/"):
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.get_by_label("Revoke night agent").click()
    page.get_by_role("button", name="Revoke for good").click()
    expect(page.get_by_role("status")).to_contain_text("is revoked")
    assert api_status() == 401
    expect(page.get_by_role("row").filter(has_text="night agent")).to_contain_text("✕ revoked")
