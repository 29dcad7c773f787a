"""The admin edits what is global: users, namespaces and their members."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from memories.models import Membership, Memory, Namespace
from tests.support.rows import NAMESPACED, empty_namespace, row

pytestmark = pytest.mark.django_db


def test_the_admin_holds_the_global_tables_and_no_other() -> None:
    registered = {model for model in admin.site._registry if model._meta.app_label == "memories"}
    assert registered == {Namespace, Membership}
    assert not registered & set(NAMESPACED)


def test_a_namespace_is_made_with_its_members(admin_client: Client, admin_user: Any) -> None:
    form = {
        "slug": "lab",
        "title": "The lab",
        "mode": "general",
        "text_config": "english",
        "embedder": "all-MiniLM-L6-v2",
        "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 0,
        "memberships-0-user": admin_user.pk,
        "memberships-0-role": "write",
    }
    answer = admin_client.post("/admin/memories/namespace/add/", form)
    assert answer.status_code == 302, answer.content
    membership = Membership.objects.get()
    assert str(membership) == "admin: write in lab"


@pytest.mark.parametrize(
    "path", ["", "namespace/", "namespace/add/", "namespace/{}/change/", "membership/", "membership/add/"]
)
def test_the_pages_of_the_admin_open(path: str, admin_client: Client) -> None:
    namespace = empty_namespace("here")
    answer = admin_client.get(f"/admin/memories/{path}".format(namespace.pk))
    assert answer.status_code == 200


def test_a_namespace_is_deleted_with_all_its_memories(admin_client: Client) -> None:
    memory = row(Memory, empty_namespace("here"))
    answer = admin_client.post(f"/admin/memories/namespace/{memory.namespace_id}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not Memory.objects.exists()
