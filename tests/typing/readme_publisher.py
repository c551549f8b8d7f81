# ruff: noqa: T201 - the text of README.md, word for word
# controller.py
import asyncio
from pathlib import Path

from hookline import Event, HookPublisher
from hookline.service import load_settings


async def batch_failed(publisher: HookPublisher, batch_id: str, version: int, error: str) -> None:
    event = Event.versioned(
        source="submitqueue",
        type="batch.failed",
        subject=batch_id,
        version=version,
        payload={"batch_id": batch_id, "error": error},
    )
    place = await publisher.publish(event)
    print(f"{event.id} confirmed at {place.topic}/{place.partition}/{place.offset}")


async def main() -> None:
    settings = load_settings(Path("hookline.toml"))
    async with HookPublisher.from_settings(settings) as publisher:
        await batch_failed(publisher, "batch-779", 2, "merge conflict")


if __name__ == "__main__":
    asyncio.run(main())
