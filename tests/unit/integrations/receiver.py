"""A real HTTP receiver on loopback, in threads, with scripted answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


Script: TypeAlias = Callable[[BaseHTTPRequestHandler, threading.Event], None]
"""Write an answer; the event is set when the test is over."""


def answer(status: int, body: bytes = b"", **headers: str) -> Script:
    """Answer with a status, a body and headers (an underscore in a name is a dash)."""

    def write(handler: BaseHTTPRequestHandler, _over: threading.Event) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if status != HTTPStatus.NO_CONTENT:
            handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return write


def endless(status: int) -> Script:
    """Answer with a body that does not end before the other side hangs up."""

    def write(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.close_connection = True
        handler.send_response(status)
        handler.end_headers()
        while not over.is_set():
            handler.wfile.write(b"x" * 65_536)

    return write


def hang(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Say nothing until the test is over."""
    handler.close_connection = True
    over.wait()


def half_body(status: int) -> Script:
    """Answer with a status and the beginning of a body, and then say nothing until the test is over."""

    def write(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.send_response(status)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        hang(handler, over)

    return write


def drip(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Answer a byte at a time, and never come to the end of the head."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-drip: ")
    while not over.wait(0.02):
        handler.wfile.write(b"x")


@dataclass
class Receiver:
    """Scripts are played in order, the last one for ever; requests are kept in the order they came."""

    port: int = 0
    scripts: list[Script] = field(default_factory=lambda: [answer(200)])
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Where to post."""
        return f"http://127.0.0.1:{self.port}/hooks"

    def play(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Keep the request and play the next script."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
            self.requests.append(Request(handler.path, headers, body))
        script(handler, self.over)


@contextmanager
def receiving(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver for the block; without scripts it answers 200."""
    receiver = Receiver()
    receiver.scripts[:] = scripts or receiver.scripts

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            receiver.connections += 1

        def do_POST(self) -> None:
            receiver.play(self, self.rfile.read(int(self.headers["content-length"])))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024

        def handle_error(self, *_: Any) -> None:
            """Say nothing: receivers here are cut off on purpose."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.over.set()
            server.shutdown()
            thread.join()
