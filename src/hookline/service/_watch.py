"""Watches from outside whether Kafka answers and the topics exist, and says by name what is missing."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from hookline.kafka import BrokerUnreachableError, KafkaClientError, TopicAdmin
from hookline.service._health import Check
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.kafka import ClientConfig
    from hookline.service._stalls import StallWatch

# Their sum, and a little, is how long a broker may be away unnoticed by a client that only waits for its answers.
_ANSWER_SECONDS = 5.0
_WHILE_GOOD_SECONDS = 4.0
_WHILE_BAD_SECONDS = 2.0
_REPEAT_SECONDS = 30.0
# More than a look at a good Kafka and its pause take; beyond it the last answer says nothing of now.
_STALE_SECONDS = 15.0

T = TypeVar("T")

_log = get_logger(__name__)


class TopicWatch:
    """Asks for the topics again and again, on one connection while it is answered.

    `answered` is called whenever Kafka answers and all topics exist; `stalls` are told then where their topics end. It
    needs no right beyond describing the topics, and never makes one. It asks on a thread of its own: hooks that hang in asyncio's pool must not keep it from asking.
    """

    def __init__(
        self,
        client: ClientConfig,
        topics: Sequence[str],
        answered: Callable[[], None],
        *,
        stalls: Sequence[StallWatch] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._topics = tuple(topics)
        self._answered = answered
        self._stalls = tuple(stalls)
        self._now = now
        self._thread = ThreadPoolExecutor(1, "kafka-watch")
        self._admin: TopicAdmin | None = None
        self._kafka = Check("kafka", "not asked yet")
        self._answered_at = now()
        self._missing: tuple[str, ...] = ()
        self._said: tuple[str, float] = ("", 0.0)

    def checks(self) -> list[Check]:
        """Tell how things stood when last asked; an answer that is too old is none."""
        missing = [Check(f"topic {topic}", "does not exist, or may not be described") for topic in self._missing]
        return [self._fresh_kafka(), *missing]

    async def run(self) -> None:
        """Watch until cancelled; a watch that has ended does not begin again."""
        try:
            while True:
                await self._look()
                is_good = all(check.ok for check in self.checks())
                await asyncio.sleep(_WHILE_GOOD_SECONDS if is_good else _WHILE_BAD_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        """End the thread after the question that it may be at, without waiting."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _fresh_kafka(self) -> Check:
        age_seconds = self._now() - self._answered_at
        if self._kafka.ok and age_seconds > _STALE_SECONDS:
            return Check("kafka", f"{self._client.bootstrap}: not answered for {age_seconds:.0f} s")
        return self._kafka

    async def _look(self) -> None:
        was_ok = all(check.ok for check in self.checks())
        try:
            found = await self._ask(lambda admin: admin.describe(self._topics))
        except BrokerUnreachableError as error:
            self._kafka = Check("kafka", str(error))
        except KafkaClientError as error:
            self._kafka = Check("kafka", f"{self._client.bootstrap}: {error}")
        else:
            self._kafka = Check("kafka")
            self._answered_at = self._now()
            self._missing = tuple(topic for topic in self._topics if topic not in found)
        self._say(was_ok=was_ok)
        for stalls in self._stalls:
            await self._look_for(stalls)

    async def _look_for(self, stalls: StallWatch) -> None:
        """Tell one engine's watch where its topic ends; whoever has no partition, or gets no answer, begins anew."""
        standings = stalls.standings()
        if not standings or not self._kafka.ok:
            stalls.forget()
            return
        try:
            stalls.observe(standings, await self._ask(lambda admin: admin.end_offsets(stalls.topic)))
        except KafkaClientError:
            stalls.forget()

    async def _ask(self, question: Callable[[TopicAdmin], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: Callable[[TopicAdmin], T]) -> T:
        # A client that was not answered is not asked again: it would wait before it connects once more.
        admin, self._admin = self._admin or TopicAdmin(self._client, _ANSWER_SECONDS), None
        with admin:
            answer = question(admin)
        self._admin = admin
        return answer

    def _say(self, *, was_ok: bool) -> None:
        failed = [check for check in self.checks() if not check.ok]
        if not failed:
            self._answered()
            if not was_ok:
                _log.info("Kafka answers and the topics exist", kafka=self._client.bootstrap, topics=self._topics)
            return
        text = "; ".join(f"{check.name}: {check.reason}" for check in failed)
        now = asyncio.get_running_loop().time()
        said, at = self._said
        if text != said or now - at > _REPEAT_SECONDS:
            self._said = (text, now)
            _log.error("cannot work yet, trying on", reason=text, kafka=self._client.bootstrap)
