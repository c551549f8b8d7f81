"""The other ends of the hooks: HTTP receivers on loopback, one of which can be down."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_OK, _AWAY = b"204 No Content", b"503 Service Unavailable"


@dataclass
class Receiver:
    """One receiver: when it took each event first, how often it was asked, and whether it is there. A context manager."""

    is_up: bool = True
    asked: int = 0
    repeated: int = 0
    taken_at: dict[str, float] = field(default_factory=dict)
    """By event id, in Unix seconds."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = await reader.readexactly(_length_of(head))
                writer.write(b"HTTP/1.1 " + self._answer(body) + b"\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, body: bytes) -> bytes:
        self.asked += 1
        if not self.is_up:
            return _AWAY
        event_id = json.loads(body)["id"]
        self.repeated += event_id in self.taken_at
        self.taken_at.setdefault(event_id, time.time())
        return _OK


def _length_of(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0
