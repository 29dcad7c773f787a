"""The people of a namespace: let in by name, given another role, sent away."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.models import Membership, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, demanded, members_only
from memories.pages.request_data import filled_fields
from memories.web.fields import OneOf, Text
from memories.web.memberships import MemberError, add_member, change_role, remove_member
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from recall_site.layout import render_page
from recall_site.problems import flat

MOST_SHOWN = 500
MEANS = {
    Role.READ: "asks and looks",
    Role.WRITE: "also stores, corrects and forgets",
    Role.ADMIN: "also keys, members, settings and the embedder",
}


class NewRole(StrictObject):
    """What somebody may do."""

    role = OneOf(choices=Role.values)


class NewMember(NewRole):
    """Somebody to be let in."""

    username = Text(max_length=150)


@require_http_methods(["GET", "POST"])
@members_only
def members(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List the members; let one in."""
    if request.method == "GET":
        return show(request, namespace, access_of(request, namespace))
    access = demanded(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        wanted = valid_values(NewMember(data=given))
        add_member(namespace, wanted["username"], wanted["role"])
    except ValidationError as error:
        return show(request, namespace, access, given=given, wrong=list(flat(error.detail)), status=400)
    except MemberError as error:
        wrong = [{"at": "username", "message": str(error)}]
        return show(request, namespace, access, given=given, wrong=wrong, status=400)
    messages.success(request, f"{wanted['username']} is a member now, with the role {wanted['role']}.")
    return redirect("keys-members", namespace.slug)


@require_POST
@members_only
def changed(request: HttpRequest, namespace: Namespace, user: int) -> HttpResponse:
    """Give a member another role."""
    access = demanded(request, namespace, Role.ADMIN)
    try:
        role = valid_values(NewRole(data=filled_fields(request.POST)))["role"]
        member = change_role(namespace, user, role)
    except ValidationError as error:
        return show(request, namespace, access, wrong=list(flat(error.detail)), status=400)
    except MemberError as error:
        messages.warning(request, str(error))
        return redirect("keys-members", namespace.slug)
    messages.success(request, f"{member.user} has the role {role} now.")
    return redirect("keys-members", namespace.slug)


@require_POST
@members_only
def removed(request: HttpRequest, namespace: Namespace, user: int) -> HttpResponse:
    """Send a member away; who leaves by themselves goes to where they still are one."""
    demanded(request, namespace, Role.ADMIN)
    try:
        member = remove_member(namespace, user)
    except MemberError as error:
        messages.warning(request, str(error))
        return redirect("keys-members", namespace.slug)
    messages.success(request, f"{member.user} is no member of {namespace} any more.")
    return redirect("home") if user == request.user.pk else redirect("keys-members", namespace.slug)


def show(request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page, by name."""
    found = Membership.objects.filter(namespace=namespace).select_related("user").order_by("user__username")
    rows = list(found[:MOST_SHOWN])
    admins = sum(one.role == Role.ADMIN for one in rows)
    context = {
        "rows": [{"member": one, "last": admins == 1 and one.role == Role.ADMIN} for one in rows],
        "roles": Role.values,
        "means": {role.value: text for role, text in MEANS.items()},
        "may_change": access.allows(Role.ADMIN),
        **more,
    }
    return render_page(request, "memories/members.html", context, status=status)
