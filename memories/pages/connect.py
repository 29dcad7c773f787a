"""Connecting an agent: code with address, namespace and key filled in, and whether its first call has arrived."""

import json
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.models import ApiKey, Namespace
from memories.pages.access import members_only
from memories.pages.request_data import is_uuid
from memories.web.layout import render_page

NO_KEY = "rk_…"
CURL = """curl -s {url}/api/v1/{namespace}/memories/ \\
  -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\
  -d '{{"content": "Maya plays the cello"}}'
curl -s {url}/api/v1/{namespace}/retrieve/ \\
  -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\
  -d '{{"query": "Which instrument does Maya play?"}}'"""
PYTHON = """import json
from urllib.request import Request, urlopen

def call(path, body):
    headers = {{"Authorization": "Bearer {key}", "Content-Type": "application/json"}}
    request = Request("{url}/api/v1/{namespace}/" + path, json.dumps(body).encode(), headers)
    with urlopen(request) as response:
        return json.load(response)

call("memories/", {{"content": "Maya plays the cello"}})
answer = call("retrieve/", {{"query": "Which instrument does Maya play?"}})
print([result["content"] for result in answer["results"]])"""
TYPESCRIPT = """const call = async (path: string, body: unknown) => {{
  const response = await fetch("{url}/api/v1/{namespace}/" + path, {{
    method: "POST",
    headers: {{ Authorization: "Bearer {key}", "Content-Type": "application/json" }},
    body: JSON.stringify(body),
  }});
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}};
await call("memories/", {{ content: "Maya plays the cello" }});
const answer = await call("retrieve/", {{ query: "Which instrument does Maya play?" }});
console.log(answer.results.map((result: {{ content: string }}) => result.content));"""
LANGGRAPH = """import httpx
from langchain_core.messages import SystemMessage
from langgraph.graph import MessagesState

recall = httpx.Client(base_url="{url}/api/v1/{namespace}/", headers={{"Authorization": "Bearer {key}"}})

def remember_and_recall(state: MessagesState):  # a node before the model's
    text = state["messages"][-1].content
    recall.post("turns/", json={{"session": "langgraph", "turns": [{{"role": "user", "text": text}}]}})
    memories = recall.post("retrieve/", json={{"query": text, "format": "markdown"}}).text
    return {{"messages": [SystemMessage(memories)]}}"""


class Snippet(NamedTuple):
    """Code in one language, ready to run."""

    name: str
    title: str
    code: str

    @property
    def rows(self) -> int:
        """Its number of lines."""
        return self.code.count("\n") + 1


def connection_snippets(url: str, namespace: str, key: str = NO_KEY) -> list[Snippet]:
    """The snippets for a namespace, with a key or a placeholder for one."""
    values = {"url": url, "namespace": namespace, "key": key}
    templates = {"curl": CURL, "Python": PYTHON, "TypeScript": TYPESCRIPT, "LangGraph": LANGGRAPH}
    snippets = [Snippet(title.lower(), title, code.format(**values)) for title, code in templates.items()]
    return [*snippets, Snippet("mcp", "MCP", mcp_config(values))]


def mcp_config(values: Mapping[str, str]) -> str:
    """The configuration of an MCP client on this machine."""
    server = {
        "command": sys.executable,
        "args": [str(settings.ROOT / "manage.py"), "mcp"],
        "env": {"RECALL_URL": values["url"], "RECALL_NAMESPACE": values["namespace"], "RECALL_KEY": values["key"]},
    }
    return json.dumps({"mcpServers": {"recall": server}}, indent=2, ensure_ascii=False)


def connection_context(
    request: HttpRequest, namespace: Namespace, *, new: ApiKey | None = None, plain: str = NO_KEY
) -> dict[str, Any]:
    """The snippets, and the key whose call is awaited: a new one, else any."""
    used = ApiKey.objects.within(namespace).filter(last_used_at__isnull=False).order_by("-last_used_at").defer("hash")
    return {
        "snippets": connection_snippets(request.build_absolute_uri("/").rstrip("/"), namespace.slug, plain),
        "new_key": new,
        "used_key": (used.filter(id=new.id) if new else used).first(),
    }


@never_cache
@require_safe
@members_only
def connect_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The snippets and the state of the connection; for htmx only the state."""
    id = request.GET.get("key", "")
    new = ApiKey.objects.within(namespace).defer("hash").filter(id=id).first() if is_uuid(id) else None
    context = connection_context(request, namespace, new=new)
    return render_page(request, "memories/connect.html", context, partial="arrival")
