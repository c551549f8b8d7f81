# without asyncio
from pathlib import Path

from hookline import Event, SyncHookPublisher
from hookline.service import load_settings


def publish(event: Event) -> None:
    with SyncHookPublisher.from_settings(load_settings(Path("hookline.toml"))) as publisher:
        publisher.publish(event)
