"""What a user may write with the names that stay; only type-checked, by mypy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, assert_type

from hookline import Event, Hook, HookPublisher, Hooks, SyncHookPublisher
from hookline.contract import JsonValue
from hookline.errs import dependency_error, retryable_dependency_error, retryable_error, user_error
from hookline.kafka import Acknowledgement
from hookline.service import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class AsyncHook:
    """A hook as most are."""

    name = "async"

    async def handle(self, event: Event) -> None:
        """Raise what means something."""
        if event.version == 0:
            raise user_error(ValueError("unversioned"))
        for wrap in (retryable_error, dependency_error, retryable_dependency_error):
            raise wrap(OSError())


class PlainHook:
    """A hook that runs on a thread, with a name of its own for each instance."""

    def __init__(self, name: str) -> None:
        self.name = name

    def handle(self, event: Event) -> None:
        """Read the event."""
        assert_type(event.id, str)
        assert_type(event.source, str)
        assert_type(event.type, str)
        assert_type(event.subject, str)
        assert_type(event.version, int)
        assert_type(event.timestamp_ms, int)
        assert_type(event.payload, Mapping[str, JsonValue])
        assert_type(event.attributes, Mapping[str, str])
        assert_type(event.identity, tuple[str, str])


class OpenedHook:
    """A hook that opens what it needs before its first event."""

    name = "opened"

    async def __aenter__(self) -> Self:
        """Open."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""

    async def handle(self, event: Event) -> None:
        """Use what is open."""


class BySubject:
    """A resolver of one's own."""

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Choose by anything that the event says."""
        return [AsyncHook()] if event.subject.startswith("batch-") else []


def hooks(settings: Settings) -> Hooks:
    """Make hooks from settings: what `app` may name."""
    return Hooks({"batch.*": [AsyncHook(), PlainHook(settings.domain)], "*": (OpenedHook(),)})


def events() -> list[Event]:
    """Make events of both kinds, with and without what may be left out."""
    return [
        Event.versioned(source="s", type="t", subject="x", version=1),
        Event.versioned(source="s", type="t", subject="x", version=1, payload={"a": [1, None, {"b": 0.5}]}),
        Event.unversioned(source="s", type="t", subject="x", cause="c"),
        Event.unversioned(source="s", type="t", subject="x", cause="c", ordinal=1, timestamp_ms=0),
    ]


async def publish(path: Path) -> None:
    """Publish on an event loop."""
    async with HookPublisher.from_settings(load_settings(path)) as publisher:
        assert_type(publisher, HookPublisher)
        for event in events():
            assert_type(await publisher.publish(event), Acknowledgement)
        for result in await publisher.publish_many(events()):
            if result.error is not None:
                raise result.error


def publish_blocking(path: Path) -> None:
    """Publish without an event loop."""
    with SyncHookPublisher.from_settings(load_settings(path)) as publisher:
        assert_type(publisher, SyncHookPublisher)
        for event in events():
            assert_type(publisher.publish(event), Acknowledgement)


def refused() -> None:
    """Write what must not pass: mypy would call an ignore here unused if it did."""
    Event.versioned(source="s", type="t", subject="x")  # type: ignore[call-arg] # a version is needed
    Event.versioned("s", "t", "x", 1)  # type: ignore[call-arg] # positions say nothing
    Hooks({"*": [object()]})  # type: ignore[list-item] # no name, no handle
