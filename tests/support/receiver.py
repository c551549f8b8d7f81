"""An HTTP receiver on loopback that records what it gets and answers as it was told."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

from .waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Answer", "ReceivedRequest", "Receiver"]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """Parse the body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer: status 0 closes the connection without a word; `after` holds the answer until it is set."""

    status: int = 204
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: threading.Event | None = None


class Receiver:
    """A context manager: listens on a free loopback port in threads of its own until it is closed."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.default = Answer()
        self._script: deque[Answer] = deque()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="receiver")

    @property
    def url(self) -> str:
        """The address of its root, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, *answers: Answer | int) -> None:
        """Answer the next requests in this order (an int is a status), then again by `default`."""
        self._script.extend(Answer(answer) if isinstance(answer, int) else answer for answer in answers)

    def wait_for(self, count: int, seconds: float = 15) -> list[ReceivedRequest]:
        """Return the requests when there are at least so many; raise NotInTimeError after so many seconds."""
        eventually(lambda: len(self.requests) >= count, seconds, what=f"{count} requests")
        return list(self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def accept(self, request: ReceivedRequest) -> Answer:
        """Record a request and choose its answer; called on the thread of its connection."""
        self.requests.append(request)
        try:
            answer = self._script.popleft()
        except IndexError:
            answer = self.default
        if answer.after:
            eventually(lambda: self._closing.is_set() or answer.after is None or answer.after.is_set(), 600)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing joins them
    receiver: Receiver

    def __init__(self, receiver: Receiver) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.receiver = receiver
        self.connections: set[socket.socket] = set()

    def server_close(self) -> None:
        for connection in list(self.connections):
            _hang_up(connection)
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.receiver.accept(ReceivedRequest(self.command, self.path, headers, body))
        if answer.status:
            self._give(answer)
        else:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _take  # noqa: N815 -- names of http.server

    def _give(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in {204, 304}:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Stay silent: the requests are recorded."""


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
