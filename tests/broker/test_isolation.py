"""Hooks with groups of their own: each for itself, moved and back under load, renamed, begun anew, and replayed."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookline import Event
from hookline.contract import DeadLetter, encode_event
from hookline.deadletters import Filter
from hookline.hooks import Hooks
from hookline.kafka import AcknowledgedProducer
from hookline.service import (
    Replay,
    ReplayRequest,
    Selection,
    Service,
    Settings,
    SettingsError,
    dead_letters_of,
)
from tests.support.kafka import TestBroker
from tests.support.waiting import NotInTimeError, eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from hookline.deadletters import Report
    from tests.support.kafka import RealKafka

SECONDS = 60.0


class Probe:
    """A hook that notes what it is done with; it fails for subjects that begin with `bad` while it is `down`."""

    def __init__(self, name: str, **attributes: Any) -> None:
        self.name = name
        self.done: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.down: BaseException | None = None
        for attribute, value in attributes.items():
            setattr(self, attribute, value)

    async def handle(self, event: Event) -> None:
        """Handle."""
        self.tried[event.id] += 1
        if self.down is not None and event.subject.startswith("bad"):
            raise self.down
        await asyncio.sleep(0)
        self.done[event.id] += 1


class Domain:
    """A domain on a broker, whose settings change from one service to the next."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.name = broker.domain()
        self.topic = f"{self.name}-hook"
        self.protocol = "classic"
        self.sent: list[str] = []

    def settings(self, **more: Any) -> Settings:
        """Make settings for these brokers."""
        common = {
            "domain": self.name,
            "kafka": {
                "common": {"bootstrap.servers": self.broker.bootstrap},
                "consumer": {"group.protocol": self.protocol},
            },
            "retry": {"initial_seconds": 0.2, "max_seconds": 0.4, "dependency_seconds": 600},
            "breaker": {"enabled": False},
            "guard": {"enabled": False},
            "http": {"listen": "127.0.0.1:0"},
        }
        settings = Settings.model_validate({**common, **more})
        return settings.for_embedded(self.broker.bootstrap) if self.broker.kind == "embedded" else settings

    @asynccontextmanager
    async def running(
        self, *hooks: Probe, selection: Selection | None = None, **settings: Any
    ) -> AsyncIterator[Service]:
        """Run a service, ready at once, and stop it."""
        threshold = gc.get_threshold()
        service = Service(self.settings(**settings), Hooks({"*": hooks}), selection=selection)
        await service.start()
        broken = asyncio.create_task(service.wait())
        try:
            await eventually_async(lambda: broken.done() or service.ready(), SECONDS, what="ready")
            if broken.done():
                broken.result()
            yield service
        finally:
            broken.cancel()
            await asyncio.wait([broken])
            await service.stop()
            gc.unfreeze()
            gc.set_threshold(*threshold)

    def publish(self, subjects: Iterable[str], version: int) -> list[str]:
        """Publish an event of each subject, and tell their ids."""
        ids = []
        for subject in subjects:
            event = Event.versioned(source="s", type=f"t.{subject[:3]}", subject=subject, version=version)
            record = encode_event(event)
            self.broker.send(self.topic, record.key, record.value, record.headers)
            ids.append(event.id)
        self.sent += ids
        return ids

    def publish_malformed(self) -> None:
        """Publish what nobody can read."""
        self.broker.send(self.topic, b"k", b"no event")

    async def settled(self, *hooks: str) -> None:
        """Wait until the shared group, or these hooks' own, have committed to the end."""
        for group in [f"{self.topic}.{hook}" for hook in hooks] or [self.topic]:
            await _until_settled(self.broker, group, self.topic)

    async def letters(self) -> list[DeadLetter]:
        """Read the dead letters."""
        records = await asyncio.to_thread(self.broker.read, f"{self.topic}_dlq")
        return [DeadLetter.from_record(record.key, record.value, record.headers) for record in records]

    async def republish(self) -> Report:
        """Send back all dead letters."""
        letters = dead_letters_of(self.settings())
        producer = AcknowledgedProducer(self.settings().client_config().producer())
        try:
            return await letters.execute(await letters.plan(Filter()), producer, reason="mended", operator="kim")
        finally:
            await producer.close(5)


@pytest.fixture
def domain(broker: TestBroker) -> Domain:
    """Give a domain on either broker."""
    return Domain(broker)


@pytest.fixture
def real(real_kafka: RealKafka) -> Domain:
    """Give a domain on the real broker: only that knows who is in a group."""
    return Domain(TestBroker(real_kafka))


SUBJECTS = [f"{kind}-{number}" for kind in ("bad", "fine") for number in range(8)]


async def test_a_hook_that_is_down_delays_itself_alone(domain: Domain) -> None:
    """P9, P12: in groups of their own the other goes on to the end, and a malformed record is one dead letter."""
    healthy, ill = Probe("healthy"), Probe("ill")
    ill.down = ConnectionRefusedError("away")
    async with domain.running(healthy, ill, isolation="per-hook", start="earliest"):
        domain.publish(SUBJECTS, 1)
        domain.publish_malformed()
        domain.publish(SUBJECTS, 2)
        await domain.settled("healthy")
        assert healthy.done == Counter(domain.sent)
        assert not any(ill.done[each] for each in domain.sent if "/bad-" in each)
        ill.down = None
        await domain.settled("ill")
    assert ill.done == Counter(domain.sent)
    assert [letter.code for letter in await domain.letters()] == ["decode_error"]


async def test_letters_of_two_hooks_are_republished_each_for_itself(domain: Domain) -> None:
    """P4, P7, P14: a letter for each, and each republication runs its own hook, whatever became of the other's before."""
    first, second = Probe("first"), Probe("second")
    first.down = second.down = ValueError("no")
    async with domain.running(first, second, isolation="per-hook", start="earliest"):
        (failed,) = domain.publish(["bad-1"], 1)
        await domain.settled("first", "second")
        assert sorted(letter.failures[0].hook for letter in await domain.letters()) == ["first", "second"]
        first.down = second.down = None
        report = await domain.republish()
        assert report.is_complete
        await domain.settled("first", "second")
    assert (first.done[failed], second.done[failed]) == (1, 1)
    assert (first.tried[failed], second.tried[failed]) == (2, 2)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_isolation_changes_there_and_back_under_load(real: Domain, protocol: str) -> None:
    """P1, P6, P12: shared, per hook, shared again, a hook in retry all the while: nothing is missed and nothing runs again."""
    real.protocol = protocol
    healthy, ill = Probe("healthy"), Probe("ill")
    ill.down = ConnectionRefusedError("away")
    async with real.running(healthy, ill):
        real.publish_malformed()
        before = real.publish(SUBJECTS, 1)
        await eventually_async(lambda: all(healthy.done[each] for each in before), SECONDS, what="one hook is done")
        real.publish(SUBJECTS, 2)
    async with real.running(healthy, ill, isolation="per-hook"):
        real.publish_malformed()
        real.publish(SUBJECTS, 3)
        await real.settled("healthy")
        assert healthy.done == Counter(real.sent)
        real.publish(SUBJECTS, 4)
    async with real.running(healthy, ill):
        real.publish(SUBJECTS, 5)
        ill.down = None
        await real.settled()
    assert healthy.done == Counter(real.sent)
    assert ill.done == Counter(real.sent)
    assert healthy.tried == healthy.done
    assert all(ill.tried[each] == 1 for each in real.sent if "/fine-" in each)
    assert [letter.code for letter in await real.letters()] == ["decode_error"] * 2
    assert real.broker.committed(f"{real.topic}.healthy", real.topic) == {}


async def test_only_one_hook_moves(real: Domain) -> None:
    """P6: `isolation = "own"` takes one hook out of the shared group, and the others go on there."""
    one, other = Probe("one"), Probe("other")
    async with real.running(one, other):
        real.publish(SUBJECTS, 1)
        await real.settled()
    moved = Probe("one", isolation="own")
    async with real.running(moved, other):
        real.publish(SUBJECTS, 2)
        await real.settled("one")
        await real.settled()
    assert one.done + moved.done == Counter(real.sent)
    assert other.done == Counter(real.sent)


async def test_a_new_group_without_a_start_fails_the_start(real: Domain) -> None:
    """P1: nothing is read, and the hook is named; with a start it begins there."""
    old, new = Probe("old"), Probe("new")
    async with real.running(old):
        real.publish(SUBJECTS, 1)
        await real.settled()
    with pytest.raises(SettingsError) as refused:
        async with real.running(old, new, isolation="per-hook"):
            pass
    assert '"new"' in str(refused.value)
    assert '"old"' not in str(refused.value)
    async with real.running(old, new, isolation="per-hook", start="latest"):
        later = real.publish(SUBJECTS, 2)
        await real.settled("old", "new")
    assert new.done == Counter(later)
    assert old.done == Counter(real.sent)


async def test_a_renamed_hook_goes_on(real: Domain) -> None:
    """P6: under its new name it runs what it had not done, and no more; its dead letters of the old name reach it."""
    old = Probe("old")
    old.down = ValueError("no")
    async with real.running(old, isolation="per-hook", start="earliest"):
        (failed,) = real.publish(["bad-1"], 1)
        done = real.publish(SUBJECTS[8:], 1)
        await real.settled("old")
    new = Probe("new", renamed_from="old")
    async with real.running(new, isolation="per-hook"):
        later = real.publish(SUBJECTS[8:], 2)
        await real.republish()
        await real.settled("new")
    assert old.done == Counter(done)
    assert new.done == Counter([*later, failed])
    assert real.broker.committed(f"{real.topic}.old", real.topic) == {}


async def test_a_replica_with_old_settings_is_named(real: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    """P6: while somebody is in the shared group nothing moves, and the start fails."""
    monkeypatch.setattr("hookline.service._service.GroupKeeper", _Impatient)
    hook = Probe("hook")
    async with real.running(hook):
        real.publish(SUBJECTS, 1)
        await real.settled()
        with pytest.raises(SettingsError) as refused:
            async with real.running(Probe("hook"), isolation="per-hook"):
                pass
    assert real.topic in str(refused.value)
    assert real.broker.committed(f"{real.topic}.hook", real.topic) == {}


async def test_processes_share_the_hooks_of_a_domain(real: Domain) -> None:
    """P7: one process runs a hook's group, another all else; whichever begins first, the hook takes over."""
    one, other = Probe("one"), Probe("other")
    async with real.running(one, other):
        real.publish(SUBJECTS, 1)
        await real.settled()
    alone, rest = Probe("one"), Probe("other")
    without = Selection(without=frozenset({"one"}))
    only = Selection(only=frozenset({"one"}))
    async with (
        real.running(Probe("one"), rest, selection=without, isolation="per-hook"),
        real.running(alone, Probe("other"), selection=only, isolation="per-hook"),
    ):
        later = real.publish(SUBJECTS, 2)
        await real.settled("one", "other")
        await real.settled()
    assert alone.done == Counter(later)
    assert rest.done == Counter(later)


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


async def test_a_replay_goes_on_where_it_was(real: Domain) -> None:
    """P6: interrupted, the same request runs what is left, with the end that it had, whatever was published since."""
    real.publish(SUBJECTS, 1)
    hook = Probe("one")
    hook.down = ConnectionRefusedError("away")
    request = ReplayRequest("one", 0)
    stopping = asyncio.Event()
    async with Replay(real.settings(), Hooks({"*": [hook]}), request) as replay:
        running = asyncio.create_task(replay.run(await replay.plan(), stopping))
        await eventually_async(lambda: len(hook.done) == 8 or running.done(), SECONDS, what="half of it is done")
        stopping.set()
        report = await running
    assert not report.is_complete
    real.publish(SUBJECTS, 2)
    hook.down = None
    async with Replay(real.settings(), Hooks({"*": [hook]}), request) as replay:
        plan = await replay.plan()
        assert (plan.events, plan.goes_on) == (8, True)
        report = await replay.run(plan, asyncio.Event())
    assert report.is_complete
    assert hook.done == Counter(real.sent[:16])


async def _until_settled(broker: TestBroker, group: str, topic: str) -> None:
    """Wait until the group has committed to the end, for longer than a hook may rest."""
    for _ in range(600):
        if await asyncio.to_thread(broker.settled, group, topic):
            return
        await asyncio.sleep(0.1)
    raise NotInTimeError(f"group {group}: {topic} is not committed to the end")


class _Impatient:
    """A keeper that waits for nobody."""

    def __new__(cls, *arguments: Any) -> Any:
        from hookline.service._groups import GroupKeeper  # noqa: PLC0415 - the one that stands in its place

        return GroupKeeper(*arguments, patience_seconds=0.0)
