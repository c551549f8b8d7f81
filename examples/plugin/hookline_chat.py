"""A kind of hooks in a package of its own: it posts a line about each event to a room of a chat server."""

from pathlib import Path
from typing import Self
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field

from hookline import Event
from hookline.integrations import NotOpenError, SecretFile


class ChatOptions(BaseModel):
    """Keys of a hook of kind `chat`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str = Field(pattern=r"^https?://\S+$", description="The chat server.")
    room: str = Field(min_length=1, description="The room that lines are posted to.")
    token_file: Path = Field(description="A file with the token of the account that posts; read again when it changes.")
    answer_seconds: float = Field(default=5.0, gt=0, description="How long the server may take to answer.")


class Chat:
    """Put a line into a room, under the event's own id: a repeat of the event replaces it and adds none."""

    kind = "chat"
    Options = ChatOptions

    def __init__(self, name: str, options: ChatOptions, *, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.name = name
        self.options = options
        self._token = SecretFile(options.token_file)
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        """Read the token, so that one that is missing is told now; nothing is connected yet."""
        self._token.read()
        self._client = httpx2.AsyncClient(timeout=self.options.answer_seconds, transport=self._transport)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def handle(self, event: Event) -> None:
        """Put the line; returns when the server has it."""
        if self._client is None:
            raise NotOpenError(self.name)
        answer = await self._client.put(
            f"{self.options.url}/rooms/{quote(self.options.room, safe='')}/lines/{quote(event.id, safe='')}",
            json={"text": f"{event.type}: {event.subject}"},
            headers={"authorization": f"Bearer {self._token.current()}"},
        )
        answer.raise_for_status()
