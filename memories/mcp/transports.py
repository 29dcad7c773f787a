"""The MCP transports: stdio for one program, HTTP for many callers, each with its own key."""

from typing import cast

from django.conf import settings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request

from memories.client import Recall
from memories.mcp.tools import ToolContext, make_mcp_server

MCP_PATH = "/{namespace}/mcp"


def serve_stdio(url: str, namespace: str, key: str) -> None:
    """Serve the parent process over stdio, with one key."""
    recall = Recall(url, namespace, key)
    make_mcp_server(lambda call: recall, settings.LOG_LEVEL).run("stdio")


def serve_http(url: str, host: str, port: int) -> None:
    """Serve over HTTP, stateless, so that no key outlives its request."""

    def client_of(call: ToolContext) -> Recall:
        request = cast(Request, call.request_context.request)
        key = request.headers.get("Authorization", "").partition(" ")[2]
        return Recall(url, request.path_params["namespace"], key)

    make_mcp_server(client_of, settings.LOG_LEVEL).run(
        "streamable-http",
        host=host,
        port=port,
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.API_BODY_LIMIT,
        transport_security=host_security(),
    )


def host_security() -> TransportSecuritySettings:
    """Allow the site's own hosts and origins only: protection against DNS rebinding."""
    if "*" in settings.ALLOWED_HOSTS:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [pattern for name in settings.ALLOWED_HOSTS for pattern in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*origins, *settings.CSRF_TRUSTED_ORIGINS])
