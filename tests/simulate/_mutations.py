"""Safeguards that can be taken out, to show that the checks see it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from hookline.consume import OffsetTracker
from hookline.consume._burial import Undertaker
from hookline.consume._partition import Partition
from hookline.consume._poller import Poller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.consume import Delivery, GiveUp
    from hookline.consume._partition import Lane
    from hookline.kafka import GroupConsumer


def _no_fence(stack: ExitStack) -> None:
    """Let every epoch count, also one that is over."""

    def begin_commits(poller: Poller, consumer: GroupConsumer) -> None:
        if not poller._commits.empty():
            poller._in_flight = poller._commits.get_nowait()
            consumer.commit({partition.number: position for partition, position in poller._in_flight.items()})

    stack.enter_context(patch.object(Partition, "closed", property(lambda _: False, lambda _, __: None)))
    stack.enter_context(patch.object(Poller, "_begin_commits", begin_commits))


def _no_confirmation(stack: ExitStack) -> None:
    """Take a dead letter for confirmed once its write has begun."""
    bury, writes = Undertaker.bury, set[asyncio.Task[None]]()

    async def begin_to_bury(undertaker: Undertaker, lane: Lane, delivery: Delivery, give_up: GiveUp) -> None:
        write = asyncio.ensure_future(bury(undertaker, lane, delivery, give_up))
        writes.add(write)
        write.add_done_callback(writes.discard)

    stack.enter_context(patch.object(Undertaker, "bury", begin_to_bury))


def _not_contiguous(stack: ExitStack) -> None:
    """Commit behind what was settled last, whatever stands before it."""
    settle, deliver_settled = OffsetTracker.settle, OffsetTracker.deliver_settled

    def pass_over(tracker: Any, offset: int) -> None:
        while tracker._delivered and tracker._delivered[0] <= offset:
            tracker._open.discard(tracker._delivered.popleft())
        tracker.position = max(tracker.position, offset + 1)

    def settle_last(tracker: OffsetTracker, offset: int) -> None:
        settle(tracker, offset)
        pass_over(tracker, offset)

    def deliver_last(tracker: OffsetTracker, offset: int) -> None:
        deliver_settled(tracker, offset)
        pass_over(tracker, offset)

    stack.enter_context(patch.object(OffsetTracker, "settle", settle_last))
    stack.enter_context(patch.object(OffsetTracker, "deliver_settled", deliver_last))


MUTATIONS: Final[dict[str, Callable[[ExitStack], None]]] = {
    "fence": _no_fence,
    "confirmation": _no_confirmation,
    "contiguous": _not_contiguous,
}


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """Take a safeguard out for a while; None takes none."""
    with ExitStack() as stack:
        if name is not None:
            MUTATIONS[name](stack)
        yield
