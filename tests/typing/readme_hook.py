# ruff: noqa: ASYNC240, D101, D102, T201 - the text of README.md, word for word
# my_hooks.py
from pathlib import Path

from hookline import Event, Hooks


class CommentOnFailure:
    name = "comment"

    async def handle(self, event: Event) -> None:
        if Path("broken").exists():
            raise RuntimeError("the code host refuses comments")
        print(f"{event.subject} failed: {event.payload['error']}", flush=True)


hooks = Hooks({"batch.failed": [CommentOnFailure()]})
