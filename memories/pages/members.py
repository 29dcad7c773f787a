"""The Members page: add members, change their roles, remove them."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.models import Membership, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.request_data import filled_fields
from memories.web.fields import OneOf, Text
from memories.web.layout import render_page
from memories.web.memberships import MemberError, add_member, change_member_role, remove_member
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from memories.web.validation_errors import flatten_errors

MAX_MEMBERS = 500
ROLE_DESCRIPTIONS = {
    Role.READ: "runs queries and reads pages",
    Role.WRITE: "also stores, corrects and forgets",
    Role.ADMIN: "also keys, members, settings and the embedder",
}


class MemberRoleSerializer(StrictObject):
    """Form of a member's role."""

    role = OneOf(choices=Role.values)


class NewMemberSerializer(MemberRoleSerializer):
    """Form of a new member."""

    username = Text(max_length=150)


@require_http_methods(["GET", "POST"])
@members_only
def members_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List the members; POST adds one."""
    if request.method == "GET":
        return render_members(request, namespace, access_of(request, namespace))
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        body = valid_values(NewMemberSerializer(data=given))
        add_member(namespace, body["username"], body["role"])
    except ValidationError as error:
        return render_members(
            request, namespace, access, given=given, wrong=list(flatten_errors(error.detail)), status=400
        )
    except MemberError as error:
        wrong = [{"at": "username", "message": str(error)}]
        return render_members(request, namespace, access, given=given, wrong=wrong, status=400)
    messages.success(request, f"{body['username']} is a member now, with the role {body['role']}.")
    return redirect("keys-members", namespace.slug)


@require_POST
@members_only
def member_role_view(request: HttpRequest, namespace: Namespace, user: int) -> HttpResponse:
    """Change a member's role."""
    access = require_role(request, namespace, Role.ADMIN)
    try:
        role = valid_values(MemberRoleSerializer(data=filled_fields(request.POST)))["role"]
        member = change_member_role(namespace, user, role)
    except ValidationError as error:
        return render_members(request, namespace, access, wrong=list(flatten_errors(error.detail)), status=400)
    except MemberError as error:
        messages.warning(request, str(error))
        return redirect("keys-members", namespace.slug)
    messages.success(request, f"{member.user} has the role {role} now.")
    return redirect("keys-members", namespace.slug)


@require_POST
@members_only
def member_remove_view(request: HttpRequest, namespace: Namespace, user: int) -> HttpResponse:
    """Remove a member; a user who removed themselves is redirected to another namespace."""
    require_role(request, namespace, Role.ADMIN)
    try:
        member = remove_member(namespace, user)
    except MemberError as error:
        messages.warning(request, str(error))
        return redirect("keys-members", namespace.slug)
    messages.success(request, f"{member.user} is no longer a member of {namespace}.")
    return redirect("home") if user == request.user.pk else redirect("keys-members", namespace.slug)


def render_members(
    request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page; members by name."""
    memberships = Membership.objects.filter(namespace=namespace).select_related("user").order_by("user__username")
    rows = list(memberships[:MAX_MEMBERS])
    admins = sum(member.role == Role.ADMIN for member in rows)
    context = {
        "rows": [{"member": member, "last": admins == 1 and member.role == Role.ADMIN} for member in rows],
        "roles": Role.values,
        "role_descriptions": {role.value: text for role, text in ROLE_DESCRIPTIONS.items()},
        "may_change": access.allows(Role.ADMIN),
        **more,
    }
    return render_page(request, "memories/members.html", context, status=status)
