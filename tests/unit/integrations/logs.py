"""What the integrations logged, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def lines_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return each line of the integrations: its event, level and fields."""
    return [
        {"event": record.getMessage(), "level": record.levelname.lower(), **vars(record)["hookline"]}
        for record in caplog.records
        if record.name.startswith("hookline.integrations")
    ]
