"""The topics of a domain as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.kafka import WantedTopic
from hookline.service._topics_file import load_topics_file

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.service._settings import Settings


def wanted_topics(settings: Settings, file: Path | None) -> list[WantedTopic]:
    """Read what topics a domain should have, from a file or by default. Raises SettingsError.

    A role that the settings switch off is left out.
    """
    return [
        WantedTopic(name, spec.partitions, spec.replication_factor, spec.config)
        for spec in load_topics_file(file).topics
        if (name := spec.name_in(settings)) is not None
    ]
