# ruff: noqa: D101, D102, T201 - the text of README.md, word for word
# my_hooks.py
from hookline import Event, Hooks


class CommentOnFailure:
    name = "comment"

    async def handle(self, event: Event) -> None:
        print(f"{event.subject} failed: {event.payload['error']}", flush=True)


hooks = Hooks({"batch.failed": [CommentOnFailure()]})
