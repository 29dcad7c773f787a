"""Django admin for the global tables; tables in a namespace have the site's own pages."""

from typing import TYPE_CHECKING

from django.contrib import admin

from memories.models import Membership, Namespace

if TYPE_CHECKING:
    Inline = admin.TabularInline[Membership, Namespace]
    NamespaceOptions = admin.ModelAdmin[Namespace]
    MembershipOptions = admin.ModelAdmin[Membership]
else:
    # Django's classes cannot be subscripted at run time.
    Inline = admin.TabularInline
    NamespaceOptions = MembershipOptions = admin.ModelAdmin

admin.site.site_header = admin.site.site_title = "Recall"
admin.site.index_title = "Users, namespaces and members"


class MembershipInline(Inline):
    """The members of a namespace."""

    model = Membership
    autocomplete_fields = ["user"]
    extra = 0


@admin.register(Namespace)
class NamespaceAdmin(NamespaceOptions):
    """Namespaces, with their members."""

    list_display = ["slug", "title", "mode", "embedder", "created_at"]
    list_filter = ["mode"]
    search_fields = ["slug", "title"]
    prepopulated_fields = {"slug": ["title"]}
    inlines = [MembershipInline]


@admin.register(Membership)
class MembershipAdmin(MembershipOptions):
    """Memberships across all namespaces."""

    list_display = ["user", "namespace", "role", "created_at"]
    list_filter = ["role", "namespace"]
    list_select_related = ["user", "namespace"]
    search_fields = ["user__username", "namespace__slug"]
    autocomplete_fields = ["user", "namespace"]
