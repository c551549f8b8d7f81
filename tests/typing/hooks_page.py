# ruff: noqa: D101, D102 - the text of docs/hooks.md, word for word
# my_package/wiring.py
from hookline import Event, Hooks


class CommentOnFailure:
    name = "comment"

    async def handle(self, event: Event) -> None:
        batch = event.payload["batch_id"]
        await code_host.comment(batch, f"Batch {batch} failed: {event.payload['error']}", key=event.id)


hooks = Hooks({"batch.failed": [CommentOnFailure()]})


class CodeHost:
    """What the page's hook calls."""

    async def comment(self, batch: object, text: str, *, key: str) -> None:
        """Post a comment."""


code_host = CodeHost()
