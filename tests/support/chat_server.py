"""A real chat server on this machine that replies as a test says."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memories.providers.language_model import LanguageModel

Reply = Callable[[Any], str]


class ChatServer(ThreadingHTTPServer):
    """Gives each request's quoted material to `reply`; fails, lingers or talks nonsense where a test says so."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.reply: Reply = lambda material: ""
        self.failures: list[int] = []
        self.refuses: set[str] = set()  # parameters it does not know
        self.logprobs: Any = None
        self.nonsense: bytes | None = None
        self.lingers = 0.0  # seconds
        self.at_once = self.most_at_once = 0
        self.counting = threading.Lock()

    def model(self, timeout: float = 5) -> LanguageModel:
        """A model behind this server."""
        return LanguageModel(
            "openai/oracle", base_url=f"http://127.0.0.1:{self.server_port}/v1", key="sk-x", timeout=timeout
        )


class Handler(BaseHTTPRequestHandler):
    """Speaks the protocol."""

    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.counting:
            server.asked.append({"path": self.path, **body})
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            failure = server.failures.pop(0) if server.failures else 0
        time.sleep(server.lingers)
        with server.counting:
            server.at_once -= 1
        if failure or server.refuses & set(body):
            return self.say(failure or 400, json.dumps({"error": {"message": "not so"}}).encode())
        material = json.loads(body["messages"][1]["content"].split("\n")[1])
        choice = {"message": {"role": "assistant", "content": server.reply(material)}, "logprobs": server.logprobs}
        return self.say(200, server.nonsense or json.dumps({"choices": [choice]}).encode())

    def say(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """The server in a thread of its own."""
    with ChatServer() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
