"""What is closed of a domain, as the control topic tells it: read by every replica, written when hookline closes a hook."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from hookline.contract import Gate, InvalidGateError, decode_gate, encode_gate
from hookline.hooks import CLOSED_BY_HOOKLINE, Gates
from hookline.kafka import FollowState, ProduceError, TopicFollower
from hookline.service._told_pages import ToldPages
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.contract import GateKey
    from hookline.kafka import AcknowledgedProducer, ClientConfig, FollowListener, Record
    from hookline.telemetry import Metrics

_WAIT_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 1.0
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0
_REPEAT_SECONDS: Final = 30.0
_MOST_LINES: Final = 20
_OFF: Final = "off"
_SCOPES: Final = ("domain", "hook", "subject")
_ANSWERED: Final = frozenset({FollowState.FOLLOWING, FollowState.MISSING, FollowState.REFUSED})

_log = get_logger(__name__)


class Control:
    """Keeps `gates` as the control topic tells them, and writes down what this process closes itself.

    An async context manager around all that the gates may keep; `wait` for it before the first record is read. When it
    cannot be told what is closed (no topic, no right to read it, no answer), the service runs as if nothing were, says so,
    and closes what is closed once it can be read. What is known stays in force while the topic cannot be read. Without a
    topic (None) nothing can be closed. For one event loop.
    """

    def __init__(
        self,
        domain: str,
        topic: str | None,
        client: ClientConfig,
        producer: AcknowledgedProducer,
        metrics: Metrics,
        *,
        follow: Callable[[ClientConfig, str, FollowListener], TopicFollower] = TopicFollower,
    ) -> None:
        self.gates = Gates(domain)
        self.told_pages = ToldPages(domain, topic, producer)
        self._topic = topic
        self._producer = producer
        self._metrics = metrics
        self._follower = None if topic is None else follow(client, topic, self)
        self._is_answered = asyncio.Event()
        self._told: dict[GateKey, Gate] = {}
        self._read: dict[GateKey, Gate] | None = None
        self._let_go: set[GateKey] = set()
        self._own: dict[GateKey, Gate] = {}
        self._confirmed: dict[GateKey, tuple[int, int]] = {}
        self._writes: set[asyncio.Task[None]] = set()
        self._unreadable = 0
        self._said: tuple[str, float] = ("", 0.0)

    async def __aenter__(self) -> Self:
        """Begin to follow the topic."""
        self._show_state(_OFF if self._follower is None else FollowState.STARTING)
        self._count()
        if self._follower is not None:
            self._follower.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop following, in bounded time; what could not be written down by now is not, and that is said."""
        if self._follower is not None:
            await self._follower.close(_CLOSE_SECONDS)
        for write in self._writes:
            write.cancel()
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self.told_pages.close(_CLOSE_SECONDS)

    async def wait(self, most_seconds: float = _WAIT_SECONDS) -> None:
        """Wait until it is known what is closed, or that it cannot be told; not longer than `most_seconds`."""
        if self._follower is None:
            return
        try:
            async with asyncio.timeout(most_seconds):
                await self._is_answered.wait()
        except TimeoutError:
            _log.warning("it is not known yet what is closed; running as if nothing were", topic=self._topic)

    @property
    def closer(self) -> Callable[[str, str], None] | None:
        """What closes a hook, given its name and why; None without a topic, for then nobody could open it again."""
        return None if self._topic is None else self.close_gate

    def close_gate(self, hook: str, reason: str, closed_by: str = CLOSED_BY_HOOKLINE) -> None:
        """Close a hook: in this process at once, and for every replica once that is confirmed, which is tried for ever.

        Does not block. Harmless for a hook that is closed. Raises RuntimeError without a topic.
        """
        if self._topic is None:
            raise RuntimeError("there is no control topic")
        gate = Gate(self.gates.domain, hook, "", reason, closed_by, time.time_ns() // 1_000_000)
        if gate.key in self._told or gate.key in self._own:
            return
        self._own[gate.key] = gate
        self._confirmed.pop(gate.key, None)
        self._show()
        try:
            key, value = encode_gate(gate)
        except InvalidGateError as error:
            _log.error("closed in this process only: its gate cannot be written", hook=hook, error=str(error))
            return
        write = asyncio.create_task(self._write(self._topic, gate, key, value), name=f"close-gate {hook}")
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)

    def received(self, records: Sequence[Record]) -> None:
        """Take records of the topic."""
        for record in records:
            self._take(record)
        if self._read is None:
            self._show()

    def changed(self, state: FollowState, reason: str) -> None:
        """Note how the topic can be read."""
        self._show_state(state)
        if state is FollowState.READING:
            self._read = {}
            self._let_go.clear()
            self._unreadable = 0
        elif state is FollowState.FOLLOWING:
            self._told, self._read = self._read or {}, None
            for key in self._let_go:
                self._forget_own(key)
            self._show()
        else:
            self._read = None
        if state in _ANSWERED:
            self._is_answered.set()
        self._say(state, reason)

    def _take(self, record: Record) -> None:
        try:
            found = decode_gate(record.key, record.value)
        except InvalidGateError as error:
            self._note_unreadable(record, str(error))
            return
        if found is None:
            self.told_pages.take(record)
            return
        if found.key.domain != self.gates.domain:
            return
        if found.problem:
            self._note_unreadable(record, found.problem)
        if self._is_told(found.key, record):
            self._let_go_of_own(found.key)
        gates = self._told if self._read is None else self._read
        if found.gate is None:
            gates.pop(found.key, None)
        else:
            gates[found.key] = found.gate

    def _is_told(self, key: GateKey, record: Record) -> bool:
        """Tell whether a record says what became of a gate that this process closed, or of what came after.

        One that could not be written down yet is opened by any tombstone that is new: in a reading of all that the topic
        holds, by one that is not older than it.
        """
        own = self._own.get(key)
        if own is None:
            return False
        if key in self._confirmed:
            partition, offset = self._confirmed[key]
            return record.partition == partition and record.offset >= offset
        is_new = self._read is None or (record.timestamp_ms or 0) >= own.closed_at_ms
        return record.value is None and is_new

    def _let_go_of_own(self, key: GateKey) -> None:
        """Leave a gate that this process closed to the topic: in a reading only when that has come to its end."""
        if self._read is None:
            self._forget_own(key)
        else:
            self._let_go.add(key)

    def _forget_own(self, key: GateKey) -> None:
        self._own.pop(key, None)
        self._confirmed.pop(key, None)

    def _note_unreadable(self, record: Record, problem: str) -> None:
        self._metrics.control_unreadable_total.inc()
        self._unreadable += 1
        if self._unreadable <= _MOST_LINES:
            _log.warning("a record of the control topic cannot be read", record=str(record), error=problem)

    def _show(self) -> None:
        """Put what is closed in force."""
        before = {gate.key: gate for gate in self.gates.closed}
        after = self._told | self._own
        self.gates.replace_all(after.values())
        self._count()
        _say_changes(before, after)

    def _count(self) -> None:
        count = Counter(gate.key.scope for gate in self.gates.closed)
        for scope in _SCOPES:
            self._metrics.gates_closed.set(count[scope], scope=scope)

    def _show_state(self, state: str) -> None:
        for each in (_OFF, *FollowState):
            self._metrics.control_state.set(1 if each == state else 0, state=str(each))

    def _say(self, state: FollowState, reason: str) -> None:
        if state is FollowState.READING:
            return
        if state is FollowState.FOLLOWING:
            _log.info("what is closed is known", topic=self._topic, gates=len(self.gates.closed))
            self._said = ("", 0.0)
            return
        now = time.monotonic()
        said, at = self._said
        if reason == said and now - at < _REPEAT_SECONDS:
            return
        self._said = (reason, now)
        if state is FollowState.MISSING:
            _log.info("there is no control topic, so nothing can be closed", topic=self._topic, reason=reason)
        else:
            _log.error("cannot read what is closed, trying on", topic=self._topic, reason=reason)

    async def _write(self, topic: str, gate: Gate, key: bytes, value: bytes) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        try:
            while self._own.get(gate.key) is gate:
                try:
                    at = await self._producer.send(topic, key, value)
                except ProduceError as error:
                    # Whatever is wrong, a right or a limit of the topic, may be mended while this process lives.
                    _log.error("a closed hook could not be written down yet", hook=gate.hook, error=str(error))
                else:
                    self._confirm(gate, (at.partition, at.offset))
                    return
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
        except asyncio.CancelledError:
            _log.error("a closed hook was not written down; after a restart it runs again", hook=gate.hook)
            raise

    def _confirm(self, gate: Gate, place: tuple[int, int]) -> None:
        if self._own.get(gate.key) is gate:
            self._confirmed[gate.key] = place


def _say_changes(before: dict[GateKey, Gate], after: dict[GateKey, Gate]) -> None:
    closed = [gate for key, gate in after.items() if key not in before]
    opened = [gate for key, gate in before.items() if key not in after]
    if len(closed) + len(opened) > _MOST_LINES:
        _log.warning("gates were closed or opened", closed=len(closed), opened=len(opened))
        return
    for gate in closed:
        _log.warning(
            "closed", hook=gate.hook or "*", subject=gate.subject or "*", reason=gate.reason, closed_by=gate.closed_by
        )
    for gate in opened:
        _log.info("opened", hook=gate.hook or "*", subject=gate.subject or "*")
