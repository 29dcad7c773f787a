"""Generated documentation is current."""

from django.core.management import call_command


def test_the_parameter_page_is_current() -> None:
    call_command("document_parameters", check=True)
