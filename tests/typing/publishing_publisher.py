# ruff: noqa: T201 - the text of docs/publishing.md, word for word
# from settings, and from parts
from pathlib import Path

from hookline import Event, HookPublisher
from hookline.kafka import ClientConfig
from hookline.service import load_settings


async def from_settings(event: Event) -> None:
    async with HookPublisher.from_settings(load_settings(Path("hookline.toml"))) as publisher:
        await publisher.check()
        await publisher.publish(event)


async def from_parts(event: Event) -> None:
    client = ClientConfig(common={"bootstrap.servers": "kafka:9092"})
    async with HookPublisher(client, "submitqueue-hook") as publisher:
        place = await publisher.publish(event)
        print(f"confirmed at {place.topic}/{place.partition}/{place.offset}")
