# ruff: noqa: D101, D102 - the text of docs/testing.md, word for word
# my_hooks.py, and its tests
from typing import Any

from hookline import Event
from hookline.testing import Double, HookStage, assert_bounds_its_work, assert_idempotent, events


class CommentOnFailure:
    name = "comment"

    def __init__(self, code_host: Any) -> None:
        self.code_host = code_host

    async def handle(self, event: Event) -> None:
        batch = event.payload["batch_id"]
        await self.code_host.comment(batch, f"Batch {batch} failed: {event.payload['error']}", key=event.id)


async def test_a_failed_batch_gets_a_comment() -> None:
    code_host = Double()
    async with HookStage({"batch.failed": [CommentOnFailure(code_host)]}) as stage:
        stage.publish(events.batch_failed(error="merge conflict"))
        await stage.settle()
    [call] = code_host.calls
    assert "merge conflict" in call.arguments[1]


async def test_it_may_come_again() -> None:
    await assert_idempotent(CommentOnFailure(Double(once_by="key")), events.batch_failed())


async def test_it_ends() -> None:
    await assert_bounds_its_work(CommentOnFailure(Double()), events.batch_failed())
