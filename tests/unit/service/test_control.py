"""What is closed, as a service learns it from the control topic and writes it there."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from hookline.contract import (
    Gate,
    GateKey,
    ToldPage,
    decode_gate,
    encode_gate,
    encode_gate_key,
    encode_told_page,
)
from hookline.kafka import (
    Acknowledgement,
    ClientConfig,
    DeliveryTimeoutError,
    ErrorKind,
    FollowState,
    InvalidRecordError,
    Record,
)
from hookline.service._control import Control
from hookline.telemetry import Metrics
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from hookline.kafka import FollowListener

CI = Gate("orders", "ci", reason="moving", closed_by="ada", closed_at_ms=1_796_032_800_000)
CLIENT = ClientConfig(common={"bootstrap.servers": "kafka:9092"})


class Topic:
    """A control topic with a follower on it that the test moves, and a producer that it lets succeed or fail."""

    def __init__(self) -> None:
        self.offset = 0
        self.sent: list[tuple[bytes, bytes | None]] = []
        self.failures: deque[Exception] = deque()
        self.at_start: list[FollowState] = [FollowState.READING, FollowState.FOLLOWING]
        self.closed = False
        self.listener: FollowListener | None = None

    def follow(self, _: ClientConfig, __: str, listener: FollowListener) -> Any:
        """Be the follower."""
        self.listener = listener
        return self

    def start(self) -> None:
        """Tell the states of the start."""
        for state in self.at_start:
            self.tell(state)

    async def close(self, timeout_seconds: float) -> bool:
        """Be closed."""
        assert timeout_seconds > 0
        self.closed = True
        return True

    async def send(self, topic: str, key: bytes, value: bytes | None) -> Acknowledgement:
        """Be the producer."""
        assert topic == "hookline-control"
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.popleft()
        self.sent.append((key, value))
        self.offset += 1
        return Acknowledgement(topic, 0, self.offset - 1)

    def tell(self, state: FollowState) -> None:
        """Tell a state."""
        assert self.listener is not None
        self.listener.changed(state, "" if state in {FollowState.READING, FollowState.FOLLOWING} else "why")

    def give(self, key: bytes | None, value: bytes | None) -> None:
        """Give a record."""
        assert self.listener is not None
        self.listener.received([Record("hookline-control", 0, self.offset, None, key, value)])
        self.offset += 1


def control_of(topic: Topic, *, name: str | None = "hookline-control") -> Control:
    """Make the control of a service whose topic the test moves."""
    metrics = Metrics(domain="orders")
    producer: Any = topic
    return Control("orders", name, CLIENT, producer, metrics, follow=topic.follow)


def is_open(control: Control) -> bool:
    """Tell whether nothing at all is closed."""
    return control.gates.is_open


def counted(control: Control) -> dict[str, float | None]:
    """Tell the gauges of what is closed, by scope."""
    return {scope: control._metrics.value("gates_closed", scope=scope) for scope in ("domain", "hook", "subject")}


def state_of(control: Control) -> set[str]:
    """Tell which state the metric shows."""
    states = ("off", *FollowState)
    return {each for each in states if control._metrics.value("control_state", state=str(each)) == 1}


async def test_gates_come_and_go() -> None:
    """A record closes, a tombstone opens, and the gauge counts what is closed by scope."""
    topic = Topic()
    async with control_of(topic) as control:
        for gate in (CI, Gate("orders", "", "b/1"), Gate("orders", "ci", "b/1"), Gate("others")):
            topic.give(*encode_gate(gate))
        assert control.gates.closed_for("ci", "b/2") == CI
        assert counted(control) == {"domain": 0, "hook": 1, "subject": 2}
        topic.give(encode_gate_key(CI.key), None)
        assert control.gates.closed_for("ci", "b/2") is None
        assert counted(control) == {"domain": 0, "hook": 0, "subject": 2}
    assert topic.closed


async def test_what_is_read_counts_once_it_is_read_to_the_end() -> None:
    """While the topic is read from its beginning, what it says on the way changes nothing: it may be long over."""
    topic = Topic()
    async with control_of(topic) as control:
        topic.give(*encode_gate(CI))
        topic.tell(FollowState.UNREACHABLE)
        topic.tell(FollowState.READING)
        topic.give(*encode_gate(Gate("orders", "", "b/1")))
        topic.give(encode_gate_key(GateKey("orders", "", "b/1")), None)
        topic.give(*encode_gate(Gate("orders", "", "b/2")))
        assert control.gates.closed == (CI,)
        topic.tell(FollowState.FOLLOWING)
        assert control.gates.closed == (Gate("orders", "", "b/2"),)


@pytest.mark.parametrize("state", [FollowState.UNREACHABLE, FollowState.MISSING, FollowState.REFUSED])
async def test_what_is_known_stays_in_force(state: FollowState) -> None:
    """A topic that cannot be read for a time opens nothing."""
    topic = Topic()
    async with control_of(topic) as control:
        topic.give(*encode_gate(CI))
        topic.tell(state)
        topic.tell(FollowState.READING)
        topic.tell(state)
        assert control.gates.closed == (CI,)
        assert state_of(control) == {str(state)}


@pytest.mark.parametrize("state", [FollowState.MISSING, FollowState.REFUSED])
async def test_a_topic_that_cannot_be_read_does_not_keep_the_service(state: FollowState) -> None:
    """A topic that is not there, or may not be read, is an answer: the service starts, and nothing is closed."""
    topic = Topic()
    topic.at_start = [state]
    async with control_of(topic) as control:
        await control.wait(600.0)
        assert is_open(control)


async def test_a_broker_that_does_not_answer_keeps_the_service_for_a_time_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """When the time is over the service runs as if nothing were closed, says so, and closes once it can read."""
    topic = Topic()
    topic.at_start = [FollowState.UNREACHABLE]
    with caplog.at_level(logging.WARNING):
        async with control_of(topic) as control:
            await control.wait(0.01)
            assert is_open(control)
            topic.tell(FollowState.READING)
            topic.give(*encode_gate(CI))
            topic.tell(FollowState.FOLLOWING)
            assert not is_open(control)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 2


async def test_unreadable_records_are_counted_and_nothing_more() -> None:
    """Hostile records do not disturb the others; one whose key is read closes what the key says."""
    topic = Topic()
    async with control_of(topic) as control:
        for key, value in ((None, b""), (b"\xff", b"\xff"), (b"gate/orders", None), (b"gate/orders/x/", b"[")):
            topic.give(key, value)
        topic.give(b"another-kind/of", b"\xff")
        assert control.gates.closed == (Gate("orders", "x"),)
        assert control._metrics.value("control_unreadable_total") == 4


async def test_what_hookline_closes_is_closed_at_once_and_written_down() -> None:
    """A hook that the service closes is closed before that is confirmed, and its record names who closed it and why."""
    topic = Topic()
    async with control_of(topic) as control:
        control.close_gate("ci", "410 Gone")
        assert control.gates.closed_for("ci", "b/1") is not None
        await eventually_async(lambda: topic.sent)
    [(key, value)] = topic.sent
    found = decode_gate(key, value)
    assert found is not None
    assert found.gate is not None
    assert (found.gate.hook, found.gate.reason, found.gate.closed_by) == ("ci", "410 Gone", "hookline")
    assert found.gate.closed_at_ms > 0


async def test_what_could_not_be_written_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that was not confirmed is repeated, and the hook stays closed meanwhile, also when the topic is read anew."""
    monkeypatch.setattr("hookline.service._control._FIRST_PAUSE_SECONDS", 0.01)
    topic = Topic()
    topic.failures += [DeliveryTimeoutError("late", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)] * 2
    async with control_of(topic) as control:
        control.close_gate("ci", "guard", "guard")
        topic.tell(FollowState.READING)
        topic.tell(FollowState.FOLLOWING)
        assert not is_open(control)
        await eventually_async(lambda: topic.sent)
        assert not is_open(control)


async def test_what_is_refused_for_good_is_written_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right that is missing may be given: whatever failed is repeated, and the hook stays closed meanwhile."""
    monkeypatch.setattr("hookline.service._control._FIRST_PAUSE_SECONDS", 0.01)
    topic = Topic()
    topic.failures += [InvalidRecordError("never", "_INVALID_ARG")] * 2
    async with control_of(topic) as control:
        control.close_gate("ci", "guard")
        await eventually_async(lambda: topic.sent)
        assert not is_open(control)


async def test_a_person_opens_what_could_not_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tombstone opens a hook whose gate the topic never saw, and it is not written down later."""
    monkeypatch.setattr("hookline.service._control._FIRST_PAUSE_SECONDS", 0.01)
    topic = Topic()
    topic.failures += [InvalidRecordError("never", "_INVALID_ARG")] * 1_000
    async with control_of(topic) as control:
        control.close_gate("ci", "guard")
        await eventually_async(lambda: len(topic.failures) < 1_000)
        topic.give(encode_gate_key(CI.key), None)
        assert is_open(control)
        await eventually_async(lambda: not control._writes)
    assert topic.sent == []


@pytest.mark.parametrize(("seconds", "opens"), [(-60, False), (60, True)])
async def test_in_a_reading_only_a_newer_tombstone_opens_what_could_not_be_written_down(
    seconds: int, *, opens: bool
) -> None:
    """What somebody opened before the hook was closed, and stands in the topic still, does not open it."""
    topic = Topic()
    topic.failures += [DeliveryTimeoutError("late", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)] * 1_000
    async with control_of(topic) as control:
        control.close_gate("ci", "guard")
        [gate] = control.gates.closed
        topic.tell(FollowState.READING)
        assert topic.listener is not None
        at_ms = gate.closed_at_ms + 1_000 * seconds
        topic.listener.received([Record("hookline-control", 0, 0, at_ms, encode_gate_key(CI.key), None)])
        assert not is_open(control)
        topic.tell(FollowState.FOLLOWING)
        assert is_open(control) is opens


async def test_a_reading_that_breaks_off_opens_nothing() -> None:
    """What this process closed stays closed until a reading that told of it has come to its end."""
    topic = Topic()
    async with control_of(topic) as control:
        control.close_gate("ci", "410 Gone")
        await eventually_async(lambda: not control._writes)
        topic.tell(FollowState.READING)
        assert topic.listener is not None
        topic.listener.received([Record("hookline-control", 0, 0, None, *topic.sent[0])])
        topic.tell(FollowState.UNREACHABLE)
        control.close_gate("audit", "410 Gone")
        assert control.gates.closed_for("ci", "b/1") is not None


async def test_a_person_opens_what_hookline_closed() -> None:
    """Once the topic has told of it the gate is as any other: its tombstone opens it, an older record does not."""
    topic = Topic()
    async with control_of(topic) as control:
        topic.give(encode_gate_key(CI.key), None)
        control.close_gate("ci", "410 Gone")
        await eventually_async(lambda: not control._writes)
        topic.tell(FollowState.READING)
        assert topic.listener is not None
        topic.listener.received([Record("hookline-control", 0, 0, None, encode_gate_key(CI.key), None)])
        topic.tell(FollowState.FOLLOWING)
        assert not is_open(control)
        topic.listener.received([Record("hookline-control", 0, 1, None, *topic.sent[0])])
        assert not is_open(control)
        topic.give(encode_gate_key(CI.key), None)
        assert is_open(control)


async def test_closing_what_is_closed_writes_nothing() -> None:
    """A hook that a person has closed keeps the reason that he gave."""
    topic = Topic()
    async with control_of(topic) as control:
        topic.give(*encode_gate(CI))
        control.close_gate("ci", "410 Gone")
        control.close_gate("audit", "410 Gone")
        control.close_gate("audit", "again")
        await eventually_async(lambda: not control._writes)
        assert control.gates.closed_for("ci", "") == CI
    assert [key for key, _ in topic.sent] == [encode_gate_key(GateKey("orders", "audit"))]


async def test_without_a_topic_nothing_can_be_closed() -> None:
    """The topic is optional: nothing is followed or waited for, and there is nothing that closes a hook for all."""
    topic = Topic()
    async with control_of(topic, name=None) as control:
        await control.wait(600.0)
        assert is_open(control)
        assert control.closer is None
        with pytest.raises(RuntimeError):
            control.close_gate("ci", "410 Gone")
        assert state_of(control) == {"off"}
    assert topic.listener is None


async def test_a_stop_does_not_wait_for_a_write() -> None:
    """What could not be written by the end is given up, for it is repeated after a restart by whatever closed it."""
    topic = Topic()
    topic.failures += [DeliveryTimeoutError("late", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)] * 1_000
    async with control_of(topic) as control:
        control.close_gate("ci", "guard")
        await asyncio.sleep(0)
    assert not control._writes
    assert topic.sent == []


async def test_what_a_pager_was_told_is_known_to_every_process() -> None:
    """P9: a note of a page is on the topic before the process that told ends, and counts for its hook, pager and closing."""
    topic, other = Topic(), Topic()
    async with control_of(topic) as control:
        control.told_pages.tell("ci", "desk", CI.closed_at_ms)
        assert control.told_pages.is_told("ci", "desk", CI.closed_at_ms)
    [note] = topic.sent
    async with control_of(other) as control:
        other.give(*note)
        told = control.told_pages
        assert told.is_told("ci", "desk", CI.closed_at_ms)
        assert not told.is_told("ci", "desk", CI.closed_at_ms + 1)
        assert not told.is_told("ci", "alerts", CI.closed_at_ms)
        assert is_open(control)
        assert control._metrics.value("control_unreadable_total") == 0


async def test_what_was_told_in_another_domain_is_not_taken() -> None:
    """The topic is one for all domains."""
    topic = Topic()
    async with control_of(topic) as control:
        topic.give(*encode_told_page(ToldPage("others", "ci", "desk", CI.closed_at_ms)))
        assert not control.told_pages.is_told("ci", "desk", CI.closed_at_ms)


async def test_a_note_that_cannot_be_written_is_kept_here() -> None:
    """A missing right, or no topic at all, costs a page after a restart, and nothing else."""
    topic = Topic()
    topic.failures.append(InvalidRecordError("never", "_INVALID_ARG"))
    for name in ("hookline-control", None):
        async with control_of(topic, name=name) as control:
            control.told_pages.tell("ci", "desk", CI.closed_at_ms)
            await eventually_async(lambda: not topic.failures)
            assert control.told_pages.is_told("ci", "desk", CI.closed_at_ms)
    assert topic.sent == []
