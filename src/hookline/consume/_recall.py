"""Reading back which identities have completed lately.

A commit tells which records are settled, not how: done, or given up. So the identities are read from the topic, less
those of records that have a dead letter. What cannot be proven completed in the time allowed will run again.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from hookline.contract import DeadLetter
from hookline.kafka import KafkaClientError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping

    from hookline.contract import Origin
    from hookline.kafka import Record

    from ._delivery import Fingerprint, Identity

_TOPIC_SHARE: Final = 0.6
"""Of the time allowed; the rest is for the dead letters, without which nothing counts."""
_BREATH_SECONDS: Final = 0.005
_PROGRESS_SECONDS: Final = 2.0
# A dead letter may be stamped by another clock than its record.
_SKEW_MS: Final = 600_000
_ATTRIBUTION: Final = "__dlq.errors."
_log = get_logger(__name__)


class Remembers(Protocol):
    """What tells the identity of a record again."""

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Read a record that was settled: its identity and fingerprint; None when it is malformed or has none."""
        ...


class ReadsBack(Protocol):
    """Reads a topic without a group. `hookline.kafka.TopicReader` is one."""

    def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        """Read from a time on to the end."""
        ...

    def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Read {partition: (first offset, offset after the last)}."""
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """An identity that completed, by which record, and what that one said.

    Or, unless it `is_settled`, one that has work left, and of which nothing was given up.
    """

    identity: Identity
    offset: int
    fingerprint: Fingerprint
    is_settled: bool = True


async def recall_completed(
    reader: ReadsBack,
    topic: str,
    dead_letter_topic: str | None,
    ranges: Mapping[int, tuple[int, int]],
    is_settled: Callable[[int, int], bool],
    remembers: Remembers,
    *,
    seconds: float,
    counts: Callable[[DeadLetter], bool] | None = None,
) -> dict[int, list[Recalled]]:
    """Tell by partition, in order of offsets, the records of the ranges that have no dead letter, settled or not.

    An identity comes as often as it lies there. `dead_letter_topic` None says that nothing is ever given up; of letters
    about these records those are left aside that `counts` denies. When the time passes while the topic is
    read, what was read counts; when the dead letters cannot all be read, in time or at all, nothing does. How it went is
    logged. Once the time has passed, a call of the client that waits for the broker is still waited for: the reader's own
    limit. Safe to cancel.
    """
    if not ranges:
        return {}
    now = asyncio.get_running_loop().time()
    recall = _Recall(reader, topic, ranges, counts)
    unread = await _in_time(recall.read(is_settled, remembers), now + seconds * _TOPIC_SHARE)
    unproven = ""
    if dead_letter_topic is not None and recall.found:
        unproven = await _in_time(recall.read_dead_letters(dead_letter_topic), now + seconds)
    return recall.conclude(unread, unproven, asyncio.get_running_loop().time() - now)


class _Recall:
    """One reading back."""

    def __init__(
        self,
        reader: ReadsBack,
        topic: str,
        ranges: Mapping[int, tuple[int, int]],
        counts: Callable[[DeadLetter], bool] | None,
    ) -> None:
        self.found: dict[tuple[int, int], Recalled] = {}
        self._counts = counts
        self._reader = reader
        self._topic = topic
        self._ranges = ranges
        self._records = 0
        self._dropped = 0
        self._since_ms: int | None = int(time.time() * 1000)
        self._breath_at = self._told_at = time.monotonic()

    async def read(self, is_settled: Callable[[int, int], bool], remembers: Remembers) -> None:
        """Read the identities of records."""
        async with aclosing(self._reader.stream_ranges(self._topic, self._ranges)) as records:
            async for record in records:
                self._records += 1
                self._add(record, remembers.recall(record), is_settled=is_settled(record.partition, record.offset))
                await self._breathe()

    async def read_dead_letters(self, topic: str) -> None:
        """Drop the records that have a dead letter."""
        since_ms = None if self._since_ms is None else max(self._since_ms - _SKEW_MS, 0)
        async with aclosing(self._reader.stream(topic, since_ms)) as letters:
            async for letter in letters:
                self._drop(letter)
                await self._breathe()

    def conclude(self, unread: str, unproven: str, elapsed_seconds: float) -> dict[int, list[Recalled]]:
        """Give what is proven, and log how it went; `unread` and `unproven` tell why a reading was not complete."""
        if unproven:
            self.found.clear()
        nothing = unproven or (unread and not self._records)
        say = _log.warning if unread or unproven else _log.info
        say(
            "dedupe window rebuilt", topic=self._topic, partitions=sorted(self._ranges), records=self._records,
            identities=sum(each.is_settled for each in self.found.values()), dead_letters=self._dropped, elapsed_seconds=round(elapsed_seconds, 3),
            proven="no" if nothing else "partly" if unread else "yes", **_reason(unproven or unread),
        )  # fmt: skip
        completed: dict[int, list[Recalled]] = {number: [] for number in self._ranges}
        for (partition, _), recalled in self.found.items():
            completed[partition].append(recalled)
        return completed

    def _drop(self, letter: Record) -> None:
        source = _source(letter)
        if source.topic != self._topic or (source.partition, source.offset) not in self.found:
            return
        if self._counts is None or self._counts(DeadLetter.from_record(None, None, letter.headers)):
            del self.found[source.partition, source.offset]
            self._dropped += 1

    def _add(self, record: Record, remembered: tuple[Identity, Fingerprint] | None, *, is_settled: bool) -> None:
        if remembered is None:
            return
        identity, fingerprint = remembered
        self.found[record.partition, record.offset] = Recalled(identity, record.offset, fingerprint, is_settled)
        if record.timestamp_ms is None:
            self._since_ms = None
        elif self._since_ms is not None:
            self._since_ms = min(self._since_ms, record.timestamp_ms)

    async def _breathe(self) -> None:
        """Let the event loop turn now and then: decoding a window takes a second."""
        now = time.monotonic()
        if now - self._breath_at < _BREATH_SECONDS:
            return
        if now - self._told_at >= _PROGRESS_SECONDS:
            self._told_at = now
            _log.info("rebuilding the dedupe window", topic=self._topic, records=self._records)
        await asyncio.sleep(0)
        self._breath_at = time.monotonic()


async def _in_time(reading: Coroutine[None, None, None], give_up: float) -> str:
    """Read until it is complete; else tell why it is not."""
    limit = asyncio.timeout_at(give_up)
    try:
        async with limit:
            await reading
    except TimeoutError:
        if not limit.expired():
            raise
        return "no time left"
    except KafkaClientError as error:
        return str(error)
    return ""


def _source(letter: Record) -> Origin:
    # The rest of a letter, above all the document of its failures, is costly to read.
    headers = tuple(header for header in letter.headers if header[0].startswith(_ATTRIBUTION))
    return DeadLetter.from_record(None, None, headers).source


def _reason(text: str) -> dict[str, str]:
    return {"reason": text} if text else {}
