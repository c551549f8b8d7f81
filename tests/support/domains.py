"""A domain of its own for a test of the command line: its topics, its settings file, dead letters made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hookline import Event
from hookline.contract import DeadLetter, DeadLetterClass, HookFailure, Origin, encode_event

if TYPE_CHECKING:
    from hookline.contract import Headers
    from tests.support.kafka import StoredRecord, TestBroker

__all__ = ["FAILED_AT_MS", "Domain", "settings_text"]

FAILED_AT_MS: Final = 1_796_032_800_000
"""When the dead letters of these tests failed unless told otherwise: 2026-11-30T10:00:00Z."""


def settings_text(domain: str, bootstrap: str, more: str = "") -> str:
    """Write a settings file on a free port; `more` is TOML that follows, so it begins with a table."""
    return f"""\
domain = "{domain}"
drain_seconds = 5
[kafka.common]
"bootstrap.servers" = "{bootstrap}"
[http]
listen = "127.0.0.1:0"
{more}
"""


class Domain:
    """The topics of a domain on a broker, and what a test puts there."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.name = broker.domain()
        self.hook_topic, self.dead_topic = f"{self.name}-hook", f"{self.name}-hook_dlq"

    def settings(self, more: str = "") -> str:
        """Write its settings file."""
        return settings_text(self.name, self.broker.bootstrap, more)

    def die(
        self,
        subject: str,
        *hooks: str,
        type: str = "batch.failed",
        source: str = "submitqueue",
        letter_class: DeadLetterClass = DeadLetterClass.PERMANENT,
        failed_at_ms: int = FAILED_AT_MS,
    ) -> str:
        """Publish an event, write the dead letter that names these hooks, and return the letter's id."""
        record = encode_event(Event.versioned(source=source, type=type, subject=subject, version=1))
        failures = tuple(
            HookFailure(hook, "Infra", "ValueError", f"{hook} refused", 1, 0.1, "hook_exception") for hook in hooks
        )
        published = self.broker.send(self.hook_topic, record.key, record.value, record.headers)
        return self._bury(published, letter_class, "hook_exception", failures, failed_at_ms)

    def die_foreign(self, key: bytes, value: bytes, headers: Headers) -> str:
        """Publish a record as some other program would, write its dead letter, and return the letter's id."""
        published = self.broker.send(self.hook_topic, key, value, headers)
        return self._bury(published, DeadLetterClass.MALFORMED, "decode_error", (), FAILED_AT_MS)

    def republished(self) -> list[StoredRecord]:
        """Read what was sent back to the hook topic."""
        return [record for record in self.broker.read(self.hook_topic) if "hookline-redrives" in dict(record.headers)]

    def _bury(
        self,
        record: StoredRecord,
        letter_class: DeadLetterClass,
        code: str,
        failures: tuple[HookFailure, ...],
        failed_at_ms: int,
    ) -> str:
        letter = DeadLetter.of_record(
            record.key,
            record.value,
            record.headers,
            source=Origin(record.topic, record.partition, record.offset),
            group=self.hook_topic,
            delivery_count=1,
            letter_class=letter_class,
            code=code,
            message="; ".join(failure.message for failure in failures) or "no event",
            failed_at_ms=failed_at_ms,
            failures=failures,
        )
        at = self.broker.send(self.dead_topic, letter.key, letter.value, letter.record_headers())
        return f"{at.partition}/{at.offset}"
