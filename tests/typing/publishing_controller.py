# ruff: noqa: D101, D102 - the text of docs/publishing.md, word for word
# controller.py
from hookline import Event, HookPublisher


class BatchController:
    def __init__(self, publisher: HookPublisher) -> None:
        self._publisher = publisher

    async def batch_failed(self, batch_id: str, version: int, error: str, conflict_paths: list[str]) -> None:
        event = Event.versioned(
            source="submitqueue",
            type="batch.failed",
            subject=batch_id,
            version=version,
            payload={"batch_id": batch_id, "error": error, "conflict_paths": conflict_paths},
        )
        await self._publisher.publish(event)
