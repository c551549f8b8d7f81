"""An HTTP receiver on loopback that answers by a script, for the demo."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


class Receiver:
    """Answers each path with the statuses of its script, then with 200; keeps the JSON bodies it was sent."""

    def __init__(self, script: Mapping[str, list[int]]) -> None:
        self._script = {path: list(statuses) for path, statuses in script.items()}
        self._bodies: dict[str, list[dict[str, object]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def bodies(self, path: str) -> list[dict[str, object]]:
        """Return what a path was sent, in order."""
        return list(self._bodies.get(path, ()))

    def receive(self, path: str, body: dict[str, object]) -> int:
        """Keep a body and tell the status to answer."""
        self._bodies.setdefault(path, []).append(body)
        statuses = self._script.get(path)
        return statuses.pop(0) if statuses else 200


def _handler_for(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(receiver.receive(self.path, json.loads(body)))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Keep standard error for people."""

    return Handler
