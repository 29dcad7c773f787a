"""Template filters for results of a retrieval."""

from django import template

from memories.retrieval.prompt_context import name_owner

register = template.Library()
register.filter("owner", name_owner)
