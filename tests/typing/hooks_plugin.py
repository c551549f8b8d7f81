# ruff: noqa: D101, D102 - the text of docs/hooks.md, word for word
# hookline_chat.py
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from hookline import Event
from hookline.integrations import NotOpenError, SecretFile


class ChatOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    room: str
    token_file: Path


class Chat:
    kind = "chat"
    Options = ChatOptions

    def __init__(self, name: str, options: ChatOptions) -> None:
        self.name = name
        self.options = options
        self._token = SecretFile(options.token_file)
        self._room: Room | None = None

    async def __aenter__(self) -> Self:
        self._token.read()
        self._room = Room(self.options.room)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._room = None

    async def handle(self, event: Event) -> None:
        if self._room is None:
            raise NotOpenError(self.name)
        await self._room.say(event.subject, key=event.id, token=self._token.current())


class Room:
    """What the page's hook talks to."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def say(self, text: str, *, key: str, token: str) -> None:
        """Say it."""


from hookline.integrations import HookKind  # noqa: E402 - beside the text of the page

_kind: HookKind = Chat
