"""Hooks with groups of their own: each for itself, moved and back under load, renamed, and begun anew."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hookline.service import Selection, SettingsError
from tests.support.isolated import SECONDS, SUBJECTS, Domain, Probe
from tests.support.kafka import TestBroker
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline import Event
    from tests.support.kafka import RealKafka


@pytest.fixture
def domain(broker: TestBroker) -> Domain:
    """Give a domain on either broker."""
    return Domain(broker)


@pytest.fixture
def real(real_kafka: RealKafka) -> Domain:
    """Give a domain on the real broker: only that knows who is in a group."""
    return Domain(TestBroker(real_kafka))


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


async def test_a_hook_that_is_gone_is_one_dead_letter(domain: Domain) -> None:
    """P7: a republication that names it is the shared group's to answer for; the other hook that it names runs, once."""
    first, second = Probe("first"), Probe("second")
    async with domain.running(first, second, isolation="per-hook", start="earliest"):
        id = domain.publish_again("bad-1", 1, "ghost", "first")
        await domain.settled("first", "second")
        await domain.settled()
    assert (first.done, second.done) == (Counter([id]), Counter())
    (letter,) = await domain.letters()
    assert [(each.hook, each.code) for each in letter.failures] == [("ghost", "hook_gone")]


async def test_a_resolver_that_fails_is_a_letter_of_each_group(real: Domain) -> None:
    """P1, P7: each tells for its own hooks, for it may fail in one alone; sent back, each hook runs once."""
    first, second = Probe("first"), Probe("second")
    resolver = _Failing([first, second])
    async with real.running(first, second, isolation="per-hook", start="earliest", resolver=resolver):
        (id,) = real.publish(["bad-1"], 1)
        await real.settled("first", "second")
        await real.settled()
        letters = await real.letters()
        assert {letter.code for letter in letters} == {"resolver_failed"}
        assert sorted(each.hook for letter in letters for each in letter.failures) == ["first", "second"]
        resolver.is_down = False
        report = await real.republish()
        assert report.is_complete
        await real.settled("first", "second")
    assert first.done == second.done == Counter([id])


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


class _Impatient:
    """A keeper that waits for nobody."""

    def __new__(cls, *arguments: Any) -> Any:
        from hookline.service._groups import GroupKeeper  # noqa: PLC0415 - the one that stands in its place

        return GroupKeeper(*arguments, patience_seconds=0.0)


class _Failing:
    """A resolver that lists its hooks, and fails for every event while it `is_down`."""

    def __init__(self, hooks: Sequence[Probe]) -> None:
        self.hooks = tuple(hooks)
        self.is_down = True

    def for_event(self, event: Event) -> Sequence[Probe]:
        """Tell all of them, or fail."""
        if self.is_down:
            raise KeyError(event.type)
        return self.hooks
