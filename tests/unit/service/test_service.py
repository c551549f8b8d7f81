"""The service as a whole, without a broker: what its start refuses, and what it says while it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pytest

from hookline.hooks import Hooks
from hookline.kafka import InvalidClientConfigError
from hookline.service import Selection, Service, Settings

if TYPE_CHECKING:
    from hookline.consume import Engine
    from hookline.contract import Event


class Door:
    """A hook that tells whether it was entered."""

    name = "door"
    entered = False

    async def __aenter__(self) -> Self:
        """Be entered."""
        self.entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        """Be left."""

    async def handle(self, event: Event) -> None:
        """Take an event."""


def service_of(
    door: Door,
    *,
    isolation: str = "shared",
    selection: Selection | None = None,
    producer: dict[str, str] | None = None,
) -> Service:
    """Make a service whose broker does not exist."""
    kafka = {"common": {"bootstrap.servers": "127.0.0.1:1"}, "producer": producer or {}}
    settings = {"domain": "orders", "isolation": isolation, "kafka": kafka, "http": {"listen": "127.0.0.1:0"}}
    return Service(Settings.model_validate(settings), Hooks({"*": [door]}), selection=selection)


async def test_a_producer_that_cannot_be_made_fails_the_start() -> None:
    """Without a producer no dead letter could be written, so nothing is read and no hook entered; nothing stays open."""
    door = Door()
    with pytest.raises(InvalidClientConfigError):
        await service_of(door, producer={"max.in.flight": "10"}).start()
    assert not door.entered


async def test_a_service_that_drains_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readiness and its gauge are red from the beginning of the stop, before the engines drain."""
    service = service_of(Door())
    service._begun += service._parts
    service.metrics.ready.set(1)
    seen: list[tuple[set[str], str]] = []

    async def stop(_: Engine, __: float) -> None:
        failing = {check.name for check in service._ready() if not check.ok}
        seen.append((failing, service.metrics.render()[0].decode()))

    monkeypatch.setattr("hookline.consume.Engine.stop", stop)
    assert "stopping" not in {check.name for check in service._ready()}
    await service.stop()
    assert all("stopping" in failing and 'hookline_ready{domain="orders"} 0.0' in metrics for failing, metrics in seen)
    assert len(seen) == 2


async def test_until_groups_are_placed_a_service_is_not_ready() -> None:
    """While nobody can tell where the groups stand readiness says so; the process lives, and can be stopped."""
    service = service_of(Door())
    assert {check.name for check in service._ready() if not check.ok} >= {"groups", "stage group"}
    assert all(check.ok for check in service._live())
    await service.stop()


def test_each_hook_with_a_group_of_its_own_is_a_part() -> None:
    """P10: the shared group always runs, each hook's own beside it; a process may run some of them only."""
    every = ["orders-hook", "orders-hook.door", "orders-hook-dlq"]
    assert groups_of() == every
    assert groups_of(Selection(only=frozenset({"door"}))) == ["orders-hook.door"]
    assert groups_of(Selection(without=frozenset({"door"}))) == ["orders-hook", "orders-hook-dlq"]


def groups_of(selection: Selection | None = None) -> list[str]:
    """Name the groups that a service with a hook of its own group runs."""
    service = service_of(Door(), isolation="per-hook", selection=selection)
    return [part.group for part in service._parts]
