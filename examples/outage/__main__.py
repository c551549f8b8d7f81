"""Plays an outage and prints what it cost: `python -m examples.outage`.

Three webhooks on one domain; the receiver of the first is down for a while. First under a steady load, measured against the
same load without an outage; then before a backlog of three intake windows, with a restart in the middle. Ends 0 when nothing
was dead-lettered or lost, memory stayed flat, and where the first hook has a group of its own the others hardly noticed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from examples.outage._receivers import Receiver
from examples.outage._scenes import DOWN, Play
from examples.outage._stage import Domain, Stage
from hookline import HookPublisher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_MODES: Final = ("shared", "own", "per-hook")
_HOOKS: Final = (DOWN, "audit", "warehouse")
_PARTITIONS: Final = 4
_WINDOWS: Final = 3
_MOST_SLOWDOWN: Final = 1.2
_MOST_GROWTH: Final = 1.3
_SLACK_SECONDS: Final = 0.005
"""Below that a difference of two p99s is the machine's."""


@dataclass
class Verdicts:
    """What did not go as it should."""

    faults: list[str] = field(default_factory=list)

    def expect(self, name: str, *, holds: bool) -> None:
        """Note a fault unless it holds."""
        if not holds:
            self.faults.append(name)


async def _main(options: Namespace) -> int:
    faults: list[str] = []
    for mode in options.mode or _MODES:
        for scene in (_steady, _backlog):
            print(f"\n{mode}: {scene.__doc__}", flush=True)
            async with _play(options, mode) as play:
                found = await scene(play, options, mode)
                faults += [f"{mode}: {fault}" for fault in found]
    print("\n" + ("\n".join(f"FAULT {fault}" for fault in faults) or "all as it should be"))
    return 1 if faults else 0


@asynccontextmanager
async def _play(options: Namespace, mode: str) -> AsyncIterator[Play]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hookline-outage-")))
        receivers = {hook: await stack.enter_async_context(Receiver()) for hook in _HOOKS}
        urls = {hook: receiver.url for hook, receiver in receivers.items()}
        make = Domain.fresh
        domain = await asyncio.to_thread(make, options.bootstrap, folder, mode, urls, window=options.window)
        yield Play(domain, Stage(domain), receivers)


async def _steady(play: Play, options: Namespace, mode: str) -> list[str]:
    """Play the outage under a steady load."""
    await play.stage.start()
    watching = asyncio.create_task(play.watch.run(play.stage))
    async with HookPublisher.from_settings(play.domain.settings) as publisher:
        await play.publish_steadily(publisher, min(5.0, options.seconds), options.rate)  # warms up
        calm = await play.publish_steadily(publisher, options.seconds, options.rate)
        memory_before = max(play.watch.memory_mib, default=0.0)
        play.receivers[DOWN].is_up = False
        away = await play.publish_steadily(publisher, options.seconds, options.rate)
        play.receivers[DOWN].is_up = True
        await play.wait_until_all_are_taken()
    watching.cancel()
    await play.stage.stop()
    verdicts = Verdicts(await _ends(play, memory_before))
    for hook in _HOOKS:
        before, during = play.p99_seconds(hook, calm), play.p99_seconds(hook, away)
        print(f"    {hook:10} p99 {before * 1000:8.1f} ms before, {during * 1000:10.1f} ms during the outage")
        is_healthy = hook != DOWN and mode != "shared"
        most = max(before * _MOST_SLOWDOWN, before + _SLACK_SECONDS)
        verdicts.expect(
            f"{hook} slowed down from {before:.3f} s to {during:.3f} s", holds=not is_healthy or during <= most
        )
    return verdicts.faults


async def _backlog(play: Play, options: Namespace, mode: str) -> list[str]:
    """Play the outage before a backlog of three intake windows, with a restart in the middle."""
    del mode
    async with HookPublisher.from_settings(play.domain.settings) as publisher:
        await play.publish_at_once(publisher, _WINDOWS * options.window * _PARTITIONS)
    play.receivers[DOWN].is_up = False
    await play.stage.start()
    watching = asyncio.create_task(play.watch.run(play.stage))
    await asyncio.sleep(options.seconds / 2)
    memory_before = max(play.watch.memory_mib, default=0.0)
    watching.cancel()
    await play.stage.stop()
    await play.stage.start()
    watching = asyncio.create_task(play.watch.run(play.stage))
    await asyncio.sleep(options.seconds / 2)
    play.receivers[DOWN].is_up = True
    await play.wait_until_all_are_taken()
    watching.cancel()
    await play.stage.stop()
    return await _ends(play, memory_before)


async def _ends(play: Play, memory_before: float) -> list[str]:
    """Print how it ended, and tell what did not go as it should."""
    letters = await asyncio.to_thread(play.domain.dead_letters)
    count, memory = len(play.published_at), max(play.watch.memory_mib, default=0.0)
    verdicts = Verdicts()
    for hook, receiver in play.receivers.items():
        held = play.watch.held.get(hook, 0.0)
        delivered = len(receiver.taken_at)
        print(
            f"    {hook:10} delivered {delivered:6} of {count}, attempts {receiver.asked:6}, repeated {receiver.repeated:4}, held at most {held:6.0f}"
        )
        verdicts.expect(f"{count - delivered} events lost for {hook}", holds=delivered == count)
    print(f"    dead letters {letters}, memory {memory_before:.0f} MiB, at most {memory:.0f} MiB")
    verdicts.expect(f"{letters} dead letters", holds=letters == 0)
    verdicts.expect(
        f"memory grew from {memory_before:.0f} to {memory:.0f} MiB", holds=memory <= memory_before * _MOST_GROWTH
    )
    return verdicts.faults


def _options() -> Namespace:
    parser = ArgumentParser("python -m examples.outage", description=__doc__)
    variable = "HOOKLINE_TEST_BOOTSTRAP"
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        default=os.environ.get(variable),
        help=f"a real broker; {variable} when not given",
    )
    parser.add_argument(
        "--mode", action="append", choices=_MODES, help="one way of keeping hooks apart; all when not given"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the receiver is away (seconds)")
    parser.add_argument("--rate", type=float, default=50.0, help="events a second")
    parser.add_argument("--window", type=int, default=1_000, help="events of a partition that are taken in at once")
    options = parser.parse_args()
    if not options.bootstrap:
        parser.error(f"no broker is named: give --bootstrap HOST:PORT, or set {variable}")
    return options


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(_options())))
