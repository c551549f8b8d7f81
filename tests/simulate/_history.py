"""One history from its seed: faults, then rest, then what must hold at the end."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hookline.consume._marks import decode_marks
from tests.simulate._clock import Clock, virtual
from tests.simulate._setup import draw_setup
from tests.simulate._world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.telemetry import Metrics
    from tests.simulate._ledger import ViolationError

_REST_SECONDS = 300.0
_LOOK_SECONDS = 0.25
_STOP_SECONDS = 30.0


def _silent(_: str) -> None:
    """Trace nothing."""


def run_history(seed: int, metrics: Metrics, trace: Callable[[str], None] = _silent) -> ViolationError | None:
    """Run one history; gives the first violation."""
    rng = random.Random(seed)  # noqa: S311 - a simulation
    clock = Clock(rng)
    with virtual(clock, seed):
        world = World(draw_setup(rng), clock, rng, metrics, lambda text: trace(f"{clock.now:9.3f} {text}"))
        checks = world.checks
        try:
            _live(world)
        finally:
            world.dispose()
    return checks.violation


def _live(world: World) -> None:
    _plan(world)
    world.run(world.setup.seconds, lambda: False)
    world.checks.trace("faults stop")
    world.stop_faults()
    if not world.processes:
        world.start()
    _until(world, _REST_SECONDS, lambda: _is_at_rest(world), "P1", _unrest)
    _check_records(world)
    _stop_all(world)
    _check_commits(world)


def _plan(world: World) -> None:
    setup, rng = world.setup, world.rng
    for _ in range(setup.processes):
        world.after(rng.choice((0.0, rng.uniform(0.0, 1.0))), world.start)
    world.publisher.plan()
    events = (
        (world.crash_one, setup.crashes),
        (world.freeze_one, setup.freezes),
        (world.evict_one, setup.evictions),
        (world.restart_one, setup.restarts),
        (world.rebalance, setup.joins),
    )
    for act, times in events:
        for _ in range(times):
            world.after(rng.uniform(0.0, setup.seconds), act)


def _stop_all(world: World) -> None:
    """Stop one after another, so that what one lets go is taken over, but for the last."""
    while world.processes and world.checks.violation is None:
        leaving = world.processes[0]
        leaving.ask_to_stop()
        _until(world, _STOP_SECONDS, lambda leaving=leaving: leaving not in world.processes, "engine", _stays)  # type: ignore[misc] # mypy cannot infer the default
        _until(world, _REST_SECONDS, lambda: not world.processes or _is_at_rest(world), "P1", _unrest)


def _stays(_: World) -> str:
    return "a process does not stop"


def _until(world: World, seconds: float, holds: Callable[[], bool], promise: str, say: Callable[[World], str]) -> None:
    give_up = world.clock.now + seconds
    while world.checks.violation is None and not holds():
        if world.clock.now >= give_up:
            world.checks.violate(promise, say(world))
            return
        world.run(_LOOK_SECONDS, lambda: False)


def _is_at_rest(world: World) -> bool:
    sent = [each for records in world.checks.sent.values() for each in records.values()]
    owned = {number for _, number in world.checks.epochs}
    is_owned = owned == set(range(world.setup.partitions)) and all(each.member.is_counted for each in world.processes)
    is_done = is_owned and all(world.checks.is_settled(each) for each in sent)
    return is_done and not _uncommitted(world) and not _leftovers(world)


def _uncommitted(world: World) -> list[int]:
    ends = {number: records[-1].offset + 1 for number, records in enumerate(world.topic.records) if records}
    return [number for number, end in ends.items() if world.group.positions.get(number, (0, ""))[0] < end]


def _leftovers(world: World) -> list[str]:
    return [left for process in world.processes for left in process.leftovers()]


def _unrest(world: World) -> str:
    sent = [each for records in world.checks.sent.values() for each in records.values()]
    unsettled = [str(each) for each in sent if not world.checks.is_settled(each)]
    return f"no rest: unsettled {unsettled}, uncommitted {_uncommitted(world)}, left {_leftovers(world)}"


def _check_records(world: World) -> None:
    for records in world.checks.sent.values():
        for sent in records.values():
            world.checks.require(world.checks.is_settled(sent), "P1", f"{sent} is neither done nor a dead letter")
            is_found = "crashed" in sent.letters or world.checks.is_duplicate(sent)
            world.checks.require(is_found or not sent.kills, "P11", f"{sent} kills and is not found")


def _check_commits(world: World) -> None:
    for number in _uncommitted(world):
        world.checks.violate("P1", f"partition {number} is not committed to its end")
    if world.faults.most_characters is not None or world.faults.unknown_positions:
        return  # it could not say so, or has never known where it stood
    for number, (offset, text) in world.group.positions.items():
        if world.topic.records[number]:
            is_clean = bool(text) and decode_marks(text, offset).clean
            world.checks.require(is_clean, "P11", f"partition {number} was not let go in order")
