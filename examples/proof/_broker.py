"""The broker of a run, and a fresh domain on it."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from hookline.kafka import EmbeddedBroker, TopicAdmin
from hookline.service import Settings, load_settings, wanted_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STAGE: Final = Path(__file__).parents[1] / "hookline.toml"


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker by its address; `embedded` when it runs inside this process."""

    bootstrap: str
    embedded: EmbeddedBroker | None = None

    def environment(self) -> dict[str, str]:
        """Name the broker in the environment of a stage."""
        common = {"HOOKLINE_KAFKA__COMMON": json.dumps({"bootstrap.servers": self.bootstrap})}
        # On the embedded broker the classic protocol takes seconds to form a group.
        new = {"HOOKLINE_KAFKA__CONSUMER": json.dumps({"group.protocol": "consumer"})}
        return common | new if self.embedded else common

    def create_topics(self, settings: Settings) -> None:
        """Create the topics of a domain. Blocks; raises KafkaClientError."""
        if self.embedded:
            self.embedded.create_topics(settings.hook_topic(), settings.dead_letter_topic())
            return
        with TopicAdmin(settings.client_config()) as admin:
            for change in admin.plan(wanted_topics(settings, None)):
                admin.apply(change)


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain that nobody used before: its settings file, the environment over that, and what both say."""

    config: Path
    environment: Mapping[str, str]
    settings: Settings

    @classmethod
    def fresh(cls, broker: Broker, folder: Path) -> Domain:
        """Make a domain whose stage writes to `folder`; relative paths start from there."""
        config = Path(shutil.copy(_STAGE, folder))
        name = {"HOOKLINE_DOMAIN": f"examples-{uuid4().hex[:12]}"}
        # Settings of some other service in the environment are not ours.
        others = {key: value for key, value in os.environ.items() if not key.startswith("HOOKLINE_")}
        environment = others | name | broker.environment()
        return cls(config, environment, load_settings(config, environment))


@contextmanager
def broker_at(bootstrap: str | None) -> Iterator[Broker]:
    """Give the broker at an address, or one inside this process while the context is open."""
    if bootstrap:
        yield Broker(bootstrap)
        return
    with EmbeddedBroker() as embedded:
        yield Broker(embedded.bootstrap, embedded)
