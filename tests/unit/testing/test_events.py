from __future__ import annotations

import pytest

from hookline.contract import decode_record, encode_event
from hookline.testing import EventFactory, assert_catalogue, events, lint_event


@pytest.mark.parametrize("factory", events.FACTORIES, ids=lambda factory: factory.event_type.type)
def test_every_event_of_the_catalogue_is_valid(factory: EventFactory) -> None:
    """Each factory makes an event that may be published, reads back equal, and keeps the rules of its declaration."""
    event = factory()
    assert decode_record(*encode_event(event)) == event
    assert lint_event(event, factory.event_type) == []


def test_the_catalogue_keeps_the_rules() -> None:
    """The declarations of all sources break no rule, and no type is declared twice."""
    assert_catalogue(events.CATALOGUE, [factory() for factory in events.FACTORIES])
    assert {each.source for each in events.CATALOGUE} == {"submitqueue", "stovepipe", "runway", "jobs"}


def test_facts_may_be_given() -> None:
    """Subject, version and facts that are given stand in the event; the subject in the payload too."""
    event = events.batch_failed("go-monorepo/batch/9", version=4, error="no path could pass")
    assert event.subject == event.payload["batch_id"] == "go-monorepo/batch/9"
    assert event.id == "submitqueue/batch.failed/go-monorepo%2Fbatch%2F9/4"
    assert event.payload["error"] == "no path could pass"
    assert event.payload["queue"] == "go-monorepo"


def test_events_are_the_same_each_time() -> None:
    """A factory reads no clock and no chance: equal calls make equal events."""
    assert events.merge_failed() == events.merge_failed()
    assert events.merge_failed(cause="other").id != events.merge_failed().id


def test_an_event_without_a_version_takes_none() -> None:
    """A version is refused where no versioned write stands behind an event."""
    with pytest.raises(TypeError):
        events.build_failed(version=3)
