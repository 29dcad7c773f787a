"""Two ways to serve the tools: to one program over its pipes, and to many over HTTP, each with its own key."""

from typing import cast

from django.conf import settings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request

from memories.client import Recall
from memories.mcp.tools import Call, make_server

PATH = "/{namespace}/mcp"


def serve_pipes(url: str, namespace: str, key: str) -> None:
    """Serve the program that started this one, under one key."""
    recall = Recall(url, namespace, key)
    make_server(lambda call: recall, settings.LOG_LEVEL).run("stdio")


def serve_http(url: str, host: str, port: int) -> None:
    """Serve whoever comes; nothing is kept between two requests, so that no key outlives its own."""

    def caller(call: Call) -> Recall:
        request = cast(Request, call.request_context.request)
        key = request.headers.get("Authorization", "").partition(" ")[2]
        return Recall(url, request.path_params["namespace"], key)

    make_server(caller, settings.LOG_LEVEL).run(
        "streamable-http",
        host=host,
        port=port,
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.API_BODY_LIMIT,
        transport_security=named_hosts(),
    )


def named_hosts() -> TransportSecuritySettings:
    """The names that the site itself goes by: a page elsewhere must not reach this through a browser."""
    if "*" in settings.ALLOWED_HOSTS:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [form for name in settings.ALLOWED_HOSTS for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*origins, *settings.CSRF_TRUSTED_ORIGINS])
