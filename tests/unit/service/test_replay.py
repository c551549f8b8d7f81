"""What a replay asks for, and what it shows of the topic to its hook."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hookline.hooks import Hooks, Place
from hookline.service import Replay, ReplayPlan, ReplayRequest, Settings, SettingsError
from hookline.service._replay import Stretch, _end_in, _opening, _Stretched
from tests.support.hooks import Script, delivery_of, event_of, stage_of

if TYPE_CHECKING:
    from hookline.kafka import Record


REQUEST = ReplayRequest("ci", 1_000, 2_000, "batch.*")


def replay_of(request: ReplayRequest) -> Replay:
    settings = {"domain": "orders", "kafka": {"common": {"bootstrap.servers": "127.0.0.1:1"}}}
    return Replay(Settings.model_validate(settings), Hooks({"*": [Script("ci"), Script("chat")]}), request)


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
def test_a_commit_says_where_the_replay_ends(end: int) -> None:
    """P6: whoever goes on has the end that was frozen; a commit that does not say it is an end itself."""
    assert _end_in(Place.read(_opening(Stretch(0, 7, end, 1)))) == end
    assert _end_in(Place.read((9, ""))) == 9


async def test_only_the_stretch_is_shown() -> None:
    """P7: what lies behind the end, and what is not wanted, is done with unseen; the rest is the stage's."""
    hook = Script("ci")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        handler = _Stretched(stage, ReplayPlan(REQUEST, "g", (Stretch(0, 0, 5, 1),), goes_on=False), _is_batch)
        for offset, type in ((0, "batch.failed"), (1, "request.landed"), (5, "batch.failed")):
            delivery = delivery_of(event_of(type))
            delivery.record = replace(delivery.record, offset=offset)
            assert (handler.identify(delivery) is None) == (offset > 0)
            assert handler.handle(delivery) is None
    assert [event.type for event in hook.runs] == ["batch.failed"]


def _is_batch(record: Record) -> bool:
    return b"batch.failed" in dict(record.headers).values()
