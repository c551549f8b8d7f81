"""The hook that does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from hookline.contract import Event


class NoopOptions(BaseModel):
    """A noop has no options."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Noop:
    """Accept every event and do nothing, on purpose: to try out wiring, or to drain a topic."""

    kind: ClassVar[str] = "noop"
    Options: ClassVar[type[BaseModel]] = NoopOptions

    def __init__(self, name: str, options: NoopOptions) -> None:
        self.name = name
        self.options = options

    async def handle(self, event: Event) -> None:
        """Return at once."""
