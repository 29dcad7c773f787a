"""How spans of time are written."""

from django import template

from memories.pages.decay import days

register = template.Library()
register.filter("span", days)
