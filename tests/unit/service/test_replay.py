"""What a replay asks for, and what it shows of the topic to its hook."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hookline.consume import Marks, encode_marks
from hookline.contract import DeadLetter
from hookline.hooks import Hooks, Place
from hookline.kafka import Acknowledgement
from hookline.service import Replay, ReplayError, ReplayPlan, ReplayRequest, Settings, SettingsError
from hookline.service._replay_plan import NOTHING_HERE, Stretch, read_note
from hookline.service._replay_stage import ReplayLetters, Stretched
from tests.support.hooks import Script, delivery_of, event_of, stage_of
from tests.unit.deadletters.making import failure, letter
from tests.unit.service.fake_groups import FakeGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline import Event
    from hookline.contract import Headers, HookFailure
    from hookline.hooks import Hook
    from hookline.kafka import Position, Record
    from hookline.service._replay_plan import Found


REQUEST = ReplayRequest("ci", 1_000, 2_000, "batch.*")


def _settings() -> Settings:
    settings = {"domain": "orders", "kafka": {"common": {"bootstrap.servers": "127.0.0.1:1"}}}
    return Settings.model_validate(settings)


def replay_of(request: ReplayRequest) -> Replay:
    return Replay(_settings(), Hooks({"*": [Script("ci"), Script("chat")]}), request)


@pytest.mark.parametrize("other", [{"hook": "chat"}, {"since_ms": 1_001}, {"until_ms": None}, {"type": "*"}])
def test_each_request_has_a_group_of_its_own(other: dict[str, Any]) -> None:
    """The same request goes on with what it has begun, and no other does."""
    assert replay_of(REQUEST).group == replay_of(replace(REQUEST)).group
    assert replay_of(REQUEST).group.startswith("orders-hook.ci.replay-")
    assert replay_of(replace(REQUEST, **other)).group != replay_of(REQUEST).group


def test_a_hook_that_nobody_lists_cannot_be_given_anything() -> None:
    """It is said at once, with the name that was probably meant."""
    with pytest.raises(SettingsError, match="chat"):
        replay_of(replace(REQUEST, hook="chatt"))


@pytest.mark.parametrize("end", [7, 1_000_000_000_000])
def test_a_commit_says_where_the_replay_ends_and_began(end: int) -> None:
    """P6: whoever goes on has the end that was frozen, and knows since when a repeat is one; a commit that does not say it is told apart."""
    assert read_note(Place.read(Stretch(0, 7, end, 1, 5).opening())) == (end, 5)
    assert read_note(Place.read((9, ""))) is None


def test_a_replay_that_has_begun_goes_on_to_the_end_that_it_had() -> None:
    """P6: also in partitions where all is done, and without those in which there was nothing to do."""
    begun = {0: Stretch(0, 7, 40, 1, 5).opening(), 1: Stretch(1, 9, 9, 0, 9).opening(), 2: (3, _nothing_here(3))}
    found = _found(REQUEST, begun)
    assert (found.starts, found.ends, found.firsts) == ({0: 7, 1: 9}, {0: 40, 1: 9}, {0: 5, 1: 9})


def test_an_end_that_was_lost_is_never_guessed() -> None:
    """P1: the time that was asked for tells it; without one a person has to, for "over" would leave out what is left."""
    begun = {0: Stretch(0, 7, 40, 1, 5).opening(), 1: (9, "")}
    found = _found(REQUEST, begun)
    assert (found.starts, found.ends, found.frozen_ends) == ({0: 7, 1: 9}, {0: 40, 1: 2_000}, {0: 40})
    with pytest.raises(ReplayError, match="--until"):
        _found(replace(REQUEST, until_ms=None), begun)


async def test_only_the_stretch_is_shown() -> None:
    """P7: what lies before the start or behind the end, and what is not wanted, is done with unseen; the rest is the stage's."""
    hook = Script("ci")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        handler = Stretched(stage, _plan_of(Stretch(0, 1, 5, 1, 1)), _is_batch)
        for offset, type in ((0, "batch.failed"), (1, "batch.failed"), (2, "request.landed"), (5, "batch.failed")):
            delivery = delivery_of(event_of(type))
            delivery.record = replace(delivery.record, offset=offset)
            assert (handler.identify(delivery) is None) == (offset != 1)
            assert handler.handle(delivery) is None
    assert [event.type for event in hook.runs] == ["batch.failed"]


async def test_only_what_the_replay_has_run_makes_a_repeat_a_duplicate() -> None:
    """P4: a record before the stretch, or one that is not wanted, was not run by it, whoever is done with it."""
    async with stage_of(Hooks({"*": [Script("ci")]})) as stage:
        handler = Stretched(stage, _plan_of(Stretch(0, 3, 5, 1, 1)), _is_batch)
        recalled = [
            handler.recall(replace(delivery_of(event_of(type)).record, offset=offset)) is not None
            for offset, type in ((0, "batch.failed"), (1, "batch.failed"), (2, "request.landed"))
        ]
    assert recalled == [False, True, False]


@pytest.mark.parametrize("failures", [(), (failure("ci"),)])
async def test_its_letters_name_the_hook_and_run_again(failures: tuple[HookFailure, ...]) -> None:
    """P14: also one for which no hook was called, as after a crash; republished it runs that hook alone, and runs it."""
    sender = _Kept()
    await ReplayLetters(sender, "orders-hook_dlq", "ci").write(replace(letter(hooks=()), failures=failures))
    (headers,) = sender.headers
    written = DeadLetter.from_record(None, None, headers)
    assert [each.hook for each in written.failures] == ["ci"]
    assert written.again


def test_an_event_that_the_resolver_fails_for_is_planned() -> None:
    """P1: a resolver that raises never means "no hooks": the event becomes a dead letter."""
    resolver = _Broken()
    replay = Replay(_settings(), resolver, REQUEST)
    assert replay._wants(delivery_of(event_of("batch.failed")).record)
    assert not replay._wants(delivery_of(event_of("request.landed")).record)
    assert not replay._wants(replace(delivery_of(event_of("batch.failed")).record, unreadable_headers=True))


class _Broken:
    """A resolver that lists its hooks and fails for every event."""

    hooks = (Script("ci"),)

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Fail."""
        raise KeyError(event.type)


class _Kept:
    """Keeps the headers of what is sent."""

    def __init__(self) -> None:
        self.headers: list[Headers] = []

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Keep them."""
        del key, value
        self.headers.append(headers)
        return Acknowledgement(topic, 0, 0)


def _found(request: ReplayRequest, begun: dict[int, Position]) -> Found:
    replay = replay_of(request)
    return replay._found(FakeGroups({replay.group: begun}))


def _nothing_here(offset: int) -> str:
    marks = Marks(frontier=offset, open=(), states=(), clean=True, note=NOTHING_HERE)
    return encode_marks(marks, offset).text


def _plan_of(*stretches: Stretch) -> ReplayPlan:
    return ReplayPlan(REQUEST, "g", stretches, goes_on=False)


def _is_batch(record: Record) -> bool:
    return b"batch.failed" in dict(record.headers).values()
