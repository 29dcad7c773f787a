"""The OpenAI-compatible embedder, against a real server on this machine."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from django.conf import settings

from memories.providers import embedder as registry
from memories.providers import endpoint
from memories.providers.embedder import EmbedderError, TokenEmbedder, embedder
from memories.providers.openai import OpenAIEmbedder


class Server(ThreadingHTTPServer):
    """Answers embeddings of letter counts; fails, lingers or talks nonsense where a test says so."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.lingers = 0.0  # seconds
        self.nonsense: bytes | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """Speaks the protocol."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **body})
        self.server.headers_seen.append(dict(self.headers))
        time.sleep(self.server.lingers)
        if self.server.failures:
            code, headers = self.server.failures.pop(0)
            return self.say(code, json.dumps({"error": {"message": "not now"}}).encode(), headers)
        size = body.get("dimensions", 26)
        data = [{"index": i, "embedding": letters(text)[:size]} for i, text in enumerate(body["input"])]
        # The protocol gives each vector its place, so the order may be any.
        return self.say(200, self.server.nonsense or json.dumps({"data": data[::-1]}).encode(), {})

    def say(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def letters(text: str) -> list[float]:
    """How often each letter stands in a text, a little above zero."""
    return [text.lower().count(chr(ord("a") + i)) + 0.01 for i in range(26)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server in a thread, and pauses too short to wait for."""
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def embedder_at(server: Server, name: str = "openai/letters", limit: int = 8191, timeout: float = 5) -> OpenAIEmbedder:
    """An embedder that asks the test's server."""
    return OpenAIEmbedder(name, base_url=server.address, key="sk-secret", limit=limit, timeout=timeout)


def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(server: Server) -> None:
    texts = ["harbour", "ferry", "東京 🎉", ""]
    rows = embedder_at(server).embed(texts)
    wanted = np.array([letters(text) for text in texts])
    np.testing.assert_allclose(rows, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)
    assert server.asked == [
        {"path": "/v1/embeddings", "model": "letters", "input": [*texts[:3], " "], "encoding_format": "float"}
    ]
    assert server.headers_seen[0]["Authorization"] == "Bearer sk-secret"


def test_the_registry_takes_address_and_key_from_the_settings(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "OPENAI_BASE_URL", server.address + "/")
    monkeypatch.setattr(settings, "OPENAI_API_KEY", "")
    made = embedder("openai/letters@8")
    try:
        assert (made.name, made.dimensions) == ("openai/letters@8", 8)
        assert made.embed(["abc"]).shape == (1, 8)
    finally:
        registry._loaded.pop("openai/letters@8")
    assert server.asked[0]["dimensions"] == 8
    assert "Authorization" not in server.headers_seen[0]


def test_dimensions_that_nobody_named_are_asked_for_once(server: Server) -> None:
    made = embedder_at(server)
    assert (made.dimensions, made.dimensions, made.embed([]).shape) == (26, 26, (0, 26))
    assert len(server.asked) == 1


def test_whether_it_has_token_states_is_known_without_asking_the_server(server: Server) -> None:
    assert not isinstance(embedder_at(server), TokenEmbedder)
    assert server.asked == []


def test_many_texts_go_in_several_requests(server: Server) -> None:
    assert embedder_at(server).embed(["ferry"] * 300).shape == (300, 26)
    assert [len(request["input"]) for request in server.asked] == [128, 128, 44]


def test_a_text_over_the_limit_goes_in_pieces_and_all_of_it_counts(server: Server) -> None:
    text = "ferry " * 30 + "zzz"
    (row,) = embedder_at(server, limit=64).embed([text])
    assert "".join(server.asked[0]["input"]) == text
    assert all(len(piece) <= 64 for piece in server.asked[0]["input"])
    assert row[25] > 0.02


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_retried(server: Server, code: int) -> None:
    server.failures = [(code, {"Retry-After": "0"}), (code, {})]
    assert embedder_at(server).embed(["ferry"]).shape == (1, 26)
    assert len(server.asked) == 3


def test_a_server_that_stays_busy_is_given_up_with_what_it_said(server: Server) -> None:
    server.failures = [(503, {})] * 9
    with pytest.raises(
        EmbedderError, match=r"/v1/embeddings returned no embeddings for the model letters: 503 .*: not now$"
    ):
        embedder_at(server).embed(["ferry"])
    assert len(server.asked) == endpoint.MAX_ATTEMPTS


def test_a_refusal_is_reported_at_once_and_without_the_key(server: Server) -> None:
    server.failures = [(401, {})]
    with pytest.raises(EmbedderError, match="401 Unauthorized: not now") as told:
        embedder_at(server).embed(["ferry"])
    assert len(server.asked) == 1
    assert "sk-secret" not in str(told.value)


def test_a_server_that_takes_too_long_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_ATTEMPTS", 1)
    server.lingers = 0.3
    with pytest.raises(EmbedderError, match="timed out"):
        embedder_at(server, timeout=0.05).embed(["ferry"])


def test_nobody_at_the_address_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EmbedderError, match="refused"):
            OpenAIEmbedder("openai/m", base_url=address, key="", limit=64, timeout=1).embed(["ferry"])


@pytest.mark.parametrize(
    "nonsense",
    [
        b"<html>",
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": 1}]}',
        b'[{"index": 0}]',
    ],
)
def test_an_answer_that_is_no_embedding_is_refused(server: Server, nonsense: bytes) -> None:
    server.nonsense = nonsense
    with pytest.raises(EmbedderError, match=r"list of embeddings|must return 1 finite vectors of one length"):
        embedder_at(server).embed(["ferry"])


def test_a_server_that_ignores_the_dimensions_asked_for_is_refused(server: Server) -> None:
    with pytest.raises(EmbedderError, match=r"of one length, 30; got shape \(1, 26\)"):
        embedder_at(server, "openai/letters@30").embed(["ferry"])


def test_an_address_without_http_and_dimensions_without_digits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"OPENAI_BASE_URL must be a URL like .*; got 'file:///etc'"):
        OpenAIEmbedder("openai/m", base_url="file:///etc", key="", limit=64, timeout=1)
    with pytest.raises(ValueError, match="dimensions after @ must be a whole number from 1; got 'many'"):
        OpenAIEmbedder("openai/m@many", base_url="http://x", key="", limit=64, timeout=1)
