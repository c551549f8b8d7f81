"""A hook that is given the past again: once, alone, to the end that was frozen, and whatever becomes of it on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hookline.hooks import Hooks, ReceiverGoneError
from hookline.kafka import GroupAdmin
from hookline.service import Replay, ReplayError, ReplayReport, ReplayRequest
from tests.support.isolated import SECONDS, SUBJECTS, Domain, Probe
from tests.support.kafka import TestBroker
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline import Event
    from tests.support.kafka import RealKafka


@pytest.fixture
def real(real_kafka: RealKafka) -> Domain:
    """Give a domain on the real broker: only that knows who is in a group."""
    return Domain(TestBroker(real_kafka))


async def run_until(real: Domain, hook: Probe, is_enough: Callable[[], bool]) -> ReplayReport:
    """Replay everything for a hook, and interrupt it when that is enough."""
    stopping = asyncio.Event()
    async with Replay(real.settings(), Hooks({"*": [hook]}), ReplayRequest("one", 0)) as replay:
        running = asyncio.create_task(replay.run(await replay.plan(), stopping))
        await eventually_async(lambda: is_enough() or running.done(), SECONDS, what="enough of it is done")
        stopping.set()
        return await running


async def test_a_replay_runs_one_hook_again_and_ends(real: Domain) -> None:
    """P4, P7, P14: planned first; completed events run, of one hook and type; what fails is a letter; its group goes."""
    one, other = Probe("one"), Probe("other")
    async with real.running(one, other):
        real.publish(SUBJECTS, 1)
        real.publish_malformed()
        await real.settled()
        again = Probe("one")
        again.down = ValueError("no")
        settings, resolver = real.settings(), Hooks({"*": [again, Probe("other")]})
        async with Replay(settings, resolver, ReplayRequest("one", 0, type="t.bad")) as replay:
            plan = await replay.plan()
            assert (plan.events, plan.goes_on) == (8, False)
            assert again.tried == Counter()
            report = await replay.run(plan, asyncio.Event())
        assert (report.done, report.dead_letters, report.is_complete) == (0, 8, True)
        assert again.tried == Counter(each for each in real.sent if "/bad-" in each)
        assert real.broker.committed(replay.group, real.topic) == {}
        assert other.done == Counter(real.sent)
        assert {letter.group for letter in await real.letters() if letter.failures} == {replay.group}


async def test_what_failed_in_a_replay_is_republished_so_that_it_runs(real: Domain) -> None:
    """P4, P14: the hook's own group is done with the event, and gives it to the hook all the same; to no other."""
    one, other = Probe("one"), Probe("other")
    async with real.running(one, other):
        (id,) = real.publish(["bad-1"], 1)
        await real.settled()
        again = Probe("one")
        again.down = ValueError("no")
        async with Replay(real.settings(), Hooks({"*": [again]}), ReplayRequest("one", 0)) as replay:
            assert (await replay.run(await replay.plan(), asyncio.Event())).dead_letters == 1
        assert (await real.republish()).is_complete
        await real.settled()
    assert (one.done[id], other.done[id]) == (2, 1)


async def test_a_replay_goes_on_where_it_was(real: Domain) -> None:
    """P6: interrupted, the same request runs what is left, with the end that it had, whatever was published since."""
    real.publish(SUBJECTS, 1)
    hook = Probe("one")
    hook.down = ConnectionRefusedError("away")
    request = ReplayRequest("one", 0)
    report = await run_until(real, hook, lambda: len(hook.done) == 8)
    assert not report.is_complete
    real.publish(SUBJECTS, 2)
    hook.down = None
    async with Replay(real.settings(), Hooks({"*": [hook]}), request) as replay:
        plan = await replay.plan()
        assert (plan.events, plan.goes_on) == (8, True)
        report = await replay.run(plan, asyncio.Event())
    assert report.is_complete
    assert hook.done == Counter(real.sent[:16])


async def test_a_replay_that_another_process_has_ended_runs_nothing(real: Domain) -> None:
    """P7: its group is gone when it goes on, so it is over; the topic's first record is not where it begins anew."""
    real.publish(SUBJECTS, 1)
    hook = Probe("one")
    hook.down = ConnectionRefusedError("away")
    await run_until(real, hook, lambda: len(hook.done) == 8)
    hook.down = None
    async with Replay(real.settings(), Hooks({"*": [hook]}), ReplayRequest("one", 0)) as replay:
        plan = await replay.plan()
        assert plan.goes_on
        with GroupAdmin(real.settings().client_config()) as admin:
            await asyncio.to_thread(admin.delete, replay.group)
        report = await replay.run(plan, asyncio.Event())
    assert (report.is_complete, report.was_gone, report.done) == (True, True, 0)
    assert hook.done == Counter(each for each in real.sent if "/fine-" in each)


async def test_a_replay_that_has_just_begun_elsewhere_is_not_begun_anew(real: Domain) -> None:
    """P6: what the other has settled would be forgotten; whoever comes too late is told, and may take part."""
    real.publish(SUBJECTS, 1)
    hook = Probe("one")
    hook.down = ConnectionRefusedError("away")
    async with Replay(real.settings(), Hooks({"*": [Probe("one")]}), ReplayRequest("one", 0)) as late:
        plan = await late.plan()
        refused: list[BaseException] = []

        async def begin_too() -> None:
            try:
                await late.run(plan, asyncio.Event())
            except ReplayError as error:
                refused.append(error)

        await run_until(real, hook, _with_another(lambda: len(hook.done) == 8, begin_too, refused))
    assert refused


async def test_an_event_that_was_published_twice_is_run_once(real: Domain) -> None:
    """P4: within a replay a repeat is a duplicate, also when the first was run before an interruption."""
    (first,), (second,) = real.publish(["fine-1"], 1), real.publish(["fine-1"], 2)
    real.publish(["fine-1"], 1)
    live = Probe("one")
    async with real.running(live):
        await real.settled()
    hook = _Stumbles("one")
    hook.down = ConnectionRefusedError("away")
    await run_until(real, hook, lambda: hook.tried[second] > 0)
    hook.down = None
    report = await run_until(real, hook, lambda: False)
    assert (report.is_complete, report.done, report.duplicates) == (True, 1, 1)
    assert hook.done == live.done == Counter([first, second])


@pytest.mark.parametrize(
    ("error", "settings"),
    [
        (ReceiverGoneError("410"), {}),
        (ValueError("no"), {"guard": {"enabled": True, "outcomes": 4, "subjects": 4, "share": 0.5}}),
    ],
)
async def test_a_replay_that_finds_the_hook_broken_stops_itself_alone(
    real: Domain, error: Exception, settings: dict[str, Any]
) -> None:
    """P9: no gate is closed, the hook runs on in the service, and what is left goes on when somebody has mended it."""
    control = real.broker.topic()
    settings |= {"topics": {"control": control}}
    real.publish([f"bad-{number}" for number in range(40)], 1)
    broken, live = Probe("one"), Probe("one")
    broken.down = error
    async with real.running(live, **settings):
        await real.settled()
        async with Replay(real.settings(**settings), Hooks({"*": [broken]}), ReplayRequest("one", 0)) as replay:
            report = await replay.run(await replay.plan(), asyncio.Event())
            assert not report.is_complete
            assert report.held_because
            assert (await replay.plan()).goes_on
        real.publish(SUBJECTS, 2)
        await real.settled()
    assert live.done == Counter(real.sent)
    assert await asyncio.to_thread(real.broker.read, control) == []


class _Stumbles(Probe):
    """A hook that fails for second versions while it is `down`."""

    async def handle(self, event: Event) -> None:
        """Handle."""
        self.tried[event.id] += 1
        if self.down is not None and event.version == 2:
            raise self.down
        self.done[event.id] += 1


def _with_another(
    is_enough: Callable[[], bool], begin: Callable[[], Any], refused: list[BaseException]
) -> Callable[[], bool]:
    """Begin another once that is enough, and tell whether it has been refused."""
    begun: list[asyncio.Task[Any]] = []

    def look() -> bool:
        if is_enough() and not begun:
            begun.append(asyncio.ensure_future(begin()))
        return bool(refused) or (bool(begun) and begun[0].done())

    return look
