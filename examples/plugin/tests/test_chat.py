# ruff: noqa: S101 - pytest asserts
"""The kind `chat`, tested as its authors would: with `hookline.testing`, a chat server in memory, and no broker."""

from http import HTTPStatus
from pathlib import Path

import httpx2
import pytest
from hookline_chat import Chat, ChatOptions

from hookline.testing import HookStage, assert_bounds_its_work, assert_idempotent, events


class Server:
    """A chat server in memory: its lines by address, and what it answers."""

    def __init__(self) -> None:
        self.lines: dict[str, bytes] = {}
        self.tokens: list[str] = []
        self.status = HTTPStatus.NO_CONTENT
        self.transport = httpx2.MockTransport(self._answer)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.tokens.append(request.headers["authorization"])
        if self.status == HTTPStatus.NO_CONTENT:
            self.lines[str(request.url)] = request.content
        return httpx2.Response(self.status)


@pytest.fixture
def server() -> Server:
    """Give a server without lines."""
    return Server()


@pytest.fixture
def chat(server: Server, tmp_path: Path) -> Chat:
    """Give a hook that posts to the server, its token in a file."""
    token_file = tmp_path / "token"
    token_file.write_text("first\n")
    options = ChatOptions(url="https://chat.example.com", room="merge room", token_file=token_file)
    return Chat("merge-room", options, transport=server.transport)


async def test_an_event_is_a_line_in_the_room(server: Server, chat: Chat) -> None:
    """The line stands under the event's id, and says what happened to what."""
    event = events.batch_failed()
    async with HookStage({"batch.*": [chat]}) as stage:
        stage.publish(event)
        await stage.settle()
    [(address, line)] = server.lines.items()
    assert address.startswith("https://chat.example.com/rooms/merge%20room/lines/")
    assert event.subject.encode() in line


async def test_a_repeat_adds_no_line(server: Server, chat: Chat) -> None:
    """The event may come again, also after a run that was cut off anywhere."""

    def anew() -> Chat:
        server.lines.clear()
        return Chat(chat.name, chat.options, transport=server.transport)

    await assert_idempotent(anew, events.batch_failed(), effects=lambda _: server.lines)
    assert len(server.lines) == 1


async def test_it_ends(chat: Chat) -> None:
    """A run gives way to others and can be cut off."""
    await assert_bounds_its_work(chat, events.batch_failed())


async def test_a_server_that_is_away_costs_no_event(server: Server, chat: Chat) -> None:
    """It is tried again until the server is back, and nothing is a dead letter."""
    server.status = HTTPStatus.SERVICE_UNAVAILABLE
    async with HookStage({"batch.*": [chat]}) as stage:
        stage.publish(events.batch_failed())
        await stage.advance(600)
        server.status = HTTPStatus.NO_CONTENT
        await stage.settle()
        assert stage.dead_letters == []
    assert len(server.lines) == 1


async def test_a_refusal_is_a_dead_letter(server: Server, chat: Chat) -> None:
    """An answer that no retry mends gives the event up at once."""
    server.status = HTTPStatus.FORBIDDEN
    async with HookStage({"batch.*": [chat]}) as stage:
        stage.publish(events.batch_failed())
        await stage.settle()
        assert len(stage.dead_letters) == 1
        assert len(stage.attempts()) == 1


async def test_the_token_is_read_again_when_its_file_changes(server: Server, chat: Chat) -> None:
    """A rotation needs no restart."""
    async with HookStage({"batch.*": [chat]}) as stage:
        stage.publish(events.batch_failed(version=1))
        await stage.settle()
        chat.options.token_file.write_text("the second one\n")
        stage.publish(events.batch_failed(version=2))
        await stage.settle()
    assert server.tokens == ["Bearer first", "Bearer the second one"]
