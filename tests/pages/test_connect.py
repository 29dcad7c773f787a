"""Connect: code that runs as it is shown, and the first call seen arriving."""

import json
import re
from html import unescape

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memories.models import Memory, Namespace
from memories.pages.connect import NO_KEY, connection_snippets
from tests.support.access import key_to, member_of
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")


def code(page: str, name: str) -> str:
    """The code of a snippet on a page."""
    found = re.search(rf'id="code-{name}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found, page
    return unescape(found[1])


def test_every_snippet_names_address_and_namespace_and_leaves_room_for_a_key(namespace: Namespace) -> None:
    page = member_of(namespace).get("/here/connect/").content.decode()
    for name in ("curl", "python", "typescript", "langgraph", "mcp"):
        assert "http://testserver" in code(page, name)
        assert "here" in code(page, name)
        assert NO_KEY in code(page, name)
    assert json.loads(code(page, "mcp"))["mcpServers"]["recall"]["env"]["RECALL_NAMESPACE"] == "here"


@pytest.mark.django_db(transaction=True)
def test_the_python_snippet_runs_as_it_is_shown(
    live_server: LiveServer, namespace: Namespace, capsys: pytest.CaptureFixture[str]
) -> None:
    key = key_to(namespace, "write")["Authorization"].removeprefix("Bearer ")  # type: ignore[arg-type]
    snippets = {snippet.name: snippet.code for snippet in connection_snippets(live_server.url, "here", key)}
    exec(compile(snippets["python"], "snippet", "exec"), {})
    assert capsys.readouterr().out == "['Maya plays the cello']\n"
    assert Memory.objects.within(namespace).count() == 1


@pytest.mark.parametrize("name", ["python", "langgraph"])
def test_the_python_of_a_snippet_compiles(name: str) -> None:
    [snippet] = [snippet for snippet in connection_snippets("http://here", "here") if snippet.name == name]
    compile(snippet.code, name, "exec")


def test_the_bodies_of_curl_are_valid(namespace: Namespace, client: Client) -> None:
    [curl] = [snippet.code for snippet in connection_snippets("", "here") if snippet.name == "curl"]
    headers = key_to(namespace, "write")  # type: ignore[arg-type]
    for path, body in re.findall(r"curl -s (\S+) .*?-d '(.*?)'", curl, re.DOTALL):
        assert client.post(path, body, "application/json", headers=headers).status_code in (200, 201)


@pytest.mark.django_db(transaction=True)
def test_a_new_key_is_filled_in_and_the_first_call_is_seen_arriving(page: Page, home: Namespace) -> None:
    sign_in(page)
    expect(page.get_by_text("Waiting for the first call")).to_be_visible()
    page.get_by_role("link", name="Keys").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("night agent")
    page.get_by_role("combobox", name="Role").select_option("write")
    page.get_by_role("button", name="Create the key").click()
    plain = page.get_by_label("The key", exact=True).input_value()
    assert plain in page.locator("#code-curl").input_value()
    expect(page.get_by_text("Waiting for the first call")).to_be_visible()
    headers = {"Authorization": f"Bearer {plain}"}
    assert page.request.get("/api/v1/home/", headers=headers).status == 200
    expect(page.get_by_text("The last call arrived")).to_contain_text("with the key “night agent”")
    page.locator("summary", has_text="Python").click()
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
