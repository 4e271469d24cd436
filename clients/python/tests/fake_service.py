"""A service with scripted answers, for what a real one does seldom."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Dict, List, NamedTuple, Optional

from souk import Souk


class Scripted(NamedTuple):
    """An answer. ``cut`` ends the connection after this many bytes."""

    status: int = 200
    data: Any = None
    headers: Dict[str, str] = {}
    body: Optional[bytes] = None
    cut: Optional[int] = None


class Received(NamedTuple):
    method: str
    path: str
    headers: Dict[str, str]
    body: bytes


class FakeService:
    """Answers requests in order, and keeps them."""

    def __init__(self) -> None:
        self.answers: List[Scripted] = []
        self.received: List[Received] = []
        self.pauses: List[float] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def client(self, **options: Any) -> Souk:
        """Returns a client that keeps its pauses instead of making them."""
        souk = Souk("km_secret", self.url, **options)
        souk._calls.transport.sleep = self.pauses.append
        souk._calls.transport.random = lambda: 0.0
        return souk

    def _handler(self) -> type:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.received.append(Received(self.command, self.path, dict(self.headers), body))
                answer = service.answers.pop(0)
                code = "0000" if answer.status < 300 else "ERROR"
                envelope = {"code": code, "msg": "said", "data": answer.data}
                payload = json.dumps(envelope).encode() if answer.body is None else answer.body
                self.send_response(answer.status)
                kind = {"Content-Type": "application/json"} if answer.body is None else {}
                for name, value in {**kind, "Content-Length": str(len(payload)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload if answer.cut is None else payload[: answer.cut])
                if answer.cut is not None:
                    self.close_connection = True

            do_GET = do_POST = do_PATCH = do_DELETE = handle_one

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
