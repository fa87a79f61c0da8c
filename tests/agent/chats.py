"""A chat server on a real socket, which answers what it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """Gives its answers one after the other, and keeps what it was asked."""

    def __init__(self, answers: list[tuple[int, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen: list[tuple[str, Any, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers), body))
        status, content = self.server.answers.pop(0)
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(*answers: tuple[int, Any]) -> Iterator[Server]:
    """A server on a free port."""
    server = Server([*answers])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
