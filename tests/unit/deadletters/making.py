"""Dead letters, fake pagers and a clock that stands still, for the tests of the room."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hookline.contract import DeadLetter, DeadLetterClass, Event, HookFailure, Origin, encode_event
from hookline.deadletters import Clock, PagerRefusedError, StoredLetter
from hookline.kafka import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Headers
    from hookline.deadletters import AnyPage

HOOK_TOPIC = "shop-hook"
DEAD_TOPIC = "shop-hook_dlq"
NOW_MS = 1_796_032_800_000


@dataclass
class StillClock:
    """Both clocks, moved by hand."""

    seconds: float = 0.0

    @property
    def clock(self) -> Clock:
        """Both clocks at the same reading."""
        return Clock(wall=lambda: NOW_MS / 1000 + self.seconds, monotonic=lambda: self.seconds)


@dataclass
class FakePager:
    """Keeps the pages it accepts; refuses while ``down``, asking for ``retry_after_seconds``."""

    name: str = "desk"
    keep_seconds: float = 0.0
    down: bool = False
    retry_after_seconds: float | None = None
    tries: int = 0
    pages: list[Any] = field(default_factory=list)
    """Of whatever kind was told."""

    async def page(self, page: AnyPage) -> None:
        """Accept the page, or refuse it."""
        self.tries += 1
        if self.down:
            raise PagerRefusedError(self.name, 503, retry_after_seconds=self.retry_after_seconds)
        self.pages.append(page)


def failure(hook: str = "ci", *, code: str = "http_status", host: str | None = "ci.example.com") -> HookFailure:
    return HookFailure(
        hook=hook,
        verdict="InfraDependency",
        exception="hookline.errs.HttpStatusError",
        message="answered 403",
        attempts=1,
        elapsed_seconds=0.2,
        code=code,
        host=host,
        http_status=403,
    )


def event(subject: str = "batch-1", *, type: str = "batch.failed", version: int = 1) -> Event:
    return Event.versioned(
        source="shop", type=type, subject=subject, version=version, payload={"batch_id": subject}, timestamp_ms=NOW_MS
    )


def letter(
    happening: Event | None = None,
    *,
    hooks: Sequence[str] = ("ci",),
    code: str = "http_status",
    letter_class: DeadLetterClass = DeadLetterClass.PERMANENT,
    source: Origin | None = None,
    redrives: int = 0,
) -> DeadLetter:
    encoded = encode_event(happening or event())
    source = source or Origin(HOOK_TOPIC, 0, 7)
    return DeadLetter(
        key=encoded.key,
        value=encoded.value,
        headers=encoded.headers,
        source=source,
        group="shop-hook",
        delivery_count=1,
        message="hook ci: answered 403",
        code=code,
        letter_class=letter_class,
        failed_at_ms=NOW_MS,
        first_failed_at_ms=NOW_MS,
        origin=source,
        redrives=redrives,
        failures=tuple(failure(hook, code=code) for hook in hooks),
    )


def record_of(dead: DeadLetter, offset: int = 0, *, partition: int = 0, timestamp_ms: int | None = NOW_MS) -> Record:
    return Record(
        topic=DEAD_TOPIC,
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp_ms,
        key=dead.key,
        value=dead.value,
        headers=dead.record_headers(),
    )


def stored(dead: DeadLetter | None = None, offset: int = 0, *, partition: int = 0) -> StoredLetter:
    """Read a letter as it would lie in the topic; by default one of its own failure."""
    dead = dead or letter(source=Origin(HOOK_TOPIC, partition, offset))
    return StoredLetter.read(record_of(dead, offset, partition=partition))


def bare_record(key: bytes | None, value: bytes | None, headers: Headers = (), offset: int = 0) -> Record:
    """Make a record in the dead-letter topic that somebody else wrote."""
    return Record(DEAD_TOPIC, 0, offset, NOW_MS, key, value, headers)


def moved(dead: DeadLetter, origin: Origin) -> DeadLetter:
    return replace(dead, origin=origin)
