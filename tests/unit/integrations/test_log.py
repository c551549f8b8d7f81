from __future__ import annotations

import logging
from typing import Literal

import pytest

from hookline.contract import Event
from hookline.integrations import Log, LogOptions
from tests.unit.integrations.events import failed_batch
from tests.unit.integrations.logs import lines_of


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
async def test_one_event_is_one_line_of_its_level(
    caplog: pytest.LogCaptureFixture, level: Literal["debug", "info", "warning", "error"]
) -> None:
    """An event becomes one structured line with its envelope and, by default, without its payload (P15)."""
    caplog.set_level(logging.DEBUG)
    await Log("diary", LogOptions(level=level)).handle(failed_batch())
    assert lines_of(caplog) == [
        {
            "event": "hook_event",
            "level": level,
            "hook": "diary",
            "source": "submitqueue",
            "event_id": "submitqueue/batch.failed/batch-778/4",
            "type": "batch.failed",
            "subject": "batch-778",
            "version": 4,
            "timestamp_ms": 1_796_032_800_123,
        }
    ]


async def test_the_payload_is_logged_when_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """With `payload = true` the line holds the payload as it is."""
    caplog.set_level(logging.DEBUG)
    await Log("diary", LogOptions(payload=True)).handle(failed_batch())
    assert lines_of(caplog)[0]["payload"] == {"batch_id": "batch-778", "error": "merge conflict", "size": 3}


async def test_long_texts_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    """An envelope of a megabyte is a line of a few kilobytes."""
    caplog.set_level(logging.DEBUG)
    await Log("diary", LogOptions()).handle(Event(id="i" * 10**6, source="s" * 10**6, type="t", subject="x" * 10**6))
    [line] = lines_of(caplog)
    assert [len(line[name]) for name in ("event_id", "source", "subject")] == [1024] * 3
