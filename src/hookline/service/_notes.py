"""What is right in the settings and worth knowing all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.service._hooks import build_hooks
from hookline.service._isolation import Isolation

if TYPE_CHECKING:
    from hookline.service._settings import Settings


def notes_on(settings: Settings) -> list[str]:
    """Say what settings without a problem bring with them, a line each. Raises `SettingsError` for those that have one."""
    together = sorted(Isolation(settings, build_hooks(settings)).shared_names())
    if len(together) < 2:  # noqa: PLR2004 - one hook has nobody to stop
        return []
    names, events = ", ".join(together), settings.consume.window_records
    stops = f"the others go on until {events} events of a partition wait for it (consume.window_records), and then stop there"
    held = "while one of them is held, by its gate, its guard or its breaker"
    return [f'{names} share one consumer group: {held}, {stops}; isolation = "own" keeps a hook apart']
