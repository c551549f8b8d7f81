from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hookline.testing import HookStage, assert_bounds_its_work, assert_idempotent, events
from tests.unit.integrations.kinds import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookline.hooks import Hook

EVENT = events.batch_failed()


@pytest.fixture(name="make", params=["audit", "warehouse"])
def _make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Hook]:
    """Make a hook that ships, with a file that nobody has written to."""
    kind: str = request.param

    def make() -> Hook:
        for each in tmp_path.iterdir():
            each.unlink()
        file = tmp_path / "file"
        return build(kind, kind, {"url": f"sqlite:///{file}"} if kind == "warehouse" else {"path": str(file)})

    return make


async def test_what_ships_is_right_by_the_kit(make: Callable[[], Hook], tmp_path: Path) -> None:
    """The hooks with a thread of their own bear repeats, end, and give way, in virtual time and with real files."""

    def written(hook: Hook) -> list[object]:
        file = tmp_path / "file"
        if hook.name == "audit":
            return [json.loads(line)["id"] for line in file.read_text().splitlines()]
        with closing(sqlite3.connect(file)) as database:
            return database.execute("select source, id from hook_events").fetchall()

    await assert_idempotent(make, EVENT, effects=written)
    await assert_bounds_its_work(make, EVENT)
    async with HookStage({"*": [make()]}) as stage:
        stage.publish(EVENT)
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts()] == [True]
