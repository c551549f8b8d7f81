"""What a stage keeps of an event beyond its process: how far each hook has come, and what the record said.

    saved  = version hook*
    hook   = hash of the name (4 bytes), state and verdict (1 byte), tries, charged, first failed, due      numbers as varints

Hooks are named by a hash, since the hooks of an event may be others when it is read. `first failed` counts minutes and
`due` five seconds, both from 2026-01-01 and rounded down, 0 for none: coarse, so that the events of one outage say the
same. The hash of no name stands for whatever is not named, the burial of a malformed record too. A hook that another group
has settled, done or given up, is done with a verdict, which otherwise only failures have. What cannot be read is ignored:
the event begins anew.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from hookline.consume import PartIdentity, pack_numbers, read_number
from hookline.contract import DeadLetterClass, HookFailure, MalformedRecordError, decode_delivery, decode_record
from hookline.errs import Verdict

from ._runs import Failed, HookRun
from ._work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hookline.consume import Delivery, Fingerprint, Identity
    from hookline.contract import Event, Redrive
    from hookline.kafka import Record

_VERSION: Final = 1
HASH_BYTES: Final = 4
_EPOCH_SECONDS: Final = 1_767_225_600  # 2026-01-01T00:00Z
_MINUTE_SECONDS: Final = 60
_DUE_SECONDS: Final = 5
_PENDING, _DONE, _PERMANENT, _EXHAUSTED = range(4)
_ELSEWHERE: Final = 1
"""The verdict of a hook that is done here because another group has settled it."""
_CLASSES: Final = {_PERMANENT: DeadLetterClass.PERMANENT, _EXHAUSTED: DeadLetterClass.EXHAUSTED}
_STATES: Final = {letter_class: state for state, letter_class in _CLASSES.items()}
_VERDICTS: Final = tuple(Verdict)  # never reordered: texts of earlier releases name them by place
_SMALL_BYTES: Final = 400

Entry: TypeAlias = tuple[bytes, int, int, int, int, int, int]
"""What is saved of a hook: hash, state, verdict, tries, charged, minute of the first failure, when it is due."""


class EarlierFailureError(Exception):
    """A hook failed for good in a process before this one; only that is known, not how."""


class StageMemory:
    """The `Memory` of a stage.

    `serves` tells the hooks that the stage runs, of those that a republication names; `renamed` maps former names of hooks
    to those of today; `known` names the hooks of the domain, also those that other stages run.
    """

    def __init__(
        self,
        serves: Callable[[str], bool] | None = None,
        renamed: Mapping[str, str] | None = None,
        known: Iterable[str] = (),
    ) -> None:
        self._serves = serves
        self._renamed = dict(renamed or {})
        self._known = frozenset(map(hash_of, (*known, *self._renamed, "")))

    def resume(self, work: Work) -> int:
        """Give the runs of an event what an owner before left of them; tell for how many hooks that are gone it was in retry."""
        return restore_runs(work, self._renamed, self._known)

    def of_today(self, redrive: Redrive | None) -> Redrive | None:
        """Name the hooks of a republication as they are called today."""
        if redrive is None or redrive.hooks is None or not self._renamed:
            return redrive
        return replace(redrive, hooks=tuple(self._renamed.get(name, name) for name in redrive.hooks))

    def identity_of(self, event: Event, redrive: Redrive | None, offset: int) -> Identity | None:
        """Tell what a record asks for: all of an event, or the hooks that a republication names; None for others' alone.

        Who failed may have a dead letter each, so that one of their republications says nothing of the others.
        """
        if redrive is None or redrive.hooks is None:
            return event.identity
        names = (self._renamed.get(name, name) for name in redrive.hooks)
        served = frozenset(name for name in names if self._serves is None or self._serves(name))
        return PartIdentity(event.identity, served, offset) if served else None

    def save(self, delivery: Delivery) -> bytes:
        """Tell how far the hooks of an event have come."""
        work = delivery.progress
        if isinstance(work, bytes):
            return work
        if not isinstance(work, Work):
            return b""
        if not work.is_resolved:
            return work.restored
        if work.saved is None:
            work.saved = b"" if all(run.is_fresh for run in work.runs) else _write(work)
        return work.saved

    def restore(self, delivery: Delivery, saved: bytes) -> None:
        """Keep what an owner before left until the event is decoded."""
        delivery.progress = saved

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Read a record that was settled."""
        if record.unreadable_headers:
            return None
        try:
            event, redrive = decode_delivery(record.key, record.value, record.headers)
        except MalformedRecordError:
            return None
        identity = self.identity_of(event, redrive, record.offset)
        if identity is None:
            return None
        value = record.value
        return identity, value if value is not None and len(value) <= _SMALL_BYTES else _digest(event)

    def fingerprint(self, delivery: Delivery) -> Fingerprint:
        """Tell what to keep of an event that is done: a small record's bytes, else a digest."""
        value = delivery.record.value
        if value is not None and len(value) <= _SMALL_BYTES:
            return value
        work = delivery.progress
        return _digest(work.event) if isinstance(work, Work) else ""

    def says_the_same(self, delivery: Delivery, earlier: Fingerprint) -> bool:
        """Tell whether type, version and payload are those of the event before; its time may differ."""
        work, record = delivery.progress, delivery.record
        if not isinstance(work, Work) or earlier in {"", record.value}:
            return True
        return _digest(work.event) == (_digest_as(record, earlier) if isinstance(earlier, bytes) else earlier)


def restore_runs(work: Work, renamed: Mapping[str, str] | None = None, known: frozenset[bytes] = frozenset()) -> int:
    """Give the runs of an event what an owner before left of them, under the names they have now.

    Tells how many hooks had work left and are neither among the runs nor `known`: they are gone.
    """
    entries = {entry[0]: entry for entry in _read(work.restored)}
    work.restored = b""
    former = {new: old for old, new in (renamed or {}).items()}
    rest_is_done = _REST in entries and entries[_REST][1] == _DONE
    for run in work.runs:
        old = former.get(run.name)
        entry = entries.pop(hash_of(run.name), None) or (entries.get(hash_of(old)) if old is not None else None)
        if run.failed is not None:
            continue
        if entry is not None:
            _restore(run, entry)
        elif rest_is_done:
            run.done = run.is_settled_elsewhere = True
    return sum(state == _PENDING and name_hash not in known for name_hash, state, *_ in entries.values())


def is_rest_done(saved: bytes) -> bool:
    """Tell whether all is settled but for the hooks that are named."""
    return any(name_hash == _REST and state == _DONE for name_hash, state, *_ in _read(saved))


def read_saved(saved: bytes) -> dict[bytes, Entry]:
    """Read what was saved of an event, by hash."""
    return {entry[0]: entry for entry in _read(saved)}


def write_saved(entries: Iterable[Entry]) -> bytes:
    """Write what is to be saved of an event."""
    packed = [
        name_hash + bytes((state | verdict << 2,)) + pack_numbers(rest) for name_hash, state, verdict, *rest in entries
    ]
    return bytes((_VERSION,)) + b"".join(packed) if packed else b""


def has_ended(entry: Entry) -> bool:
    """Tell whether a hook is done, or has failed for good."""
    return entry[1] != _PENDING


def entry_of(name: str, *, done: bool) -> Entry:
    """Make what is saved of a hook that its own group has settled, or that has not begun; of all others for the name ""."""
    return hash_of(name), _DONE if done else _PENDING, _ELSEWHERE if done else 0, 0, 0, 0, 0


@lru_cache(1_024)
def hash_of(name: str) -> bytes:
    """Name a hook in few bytes, the same in every process and release."""
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=HASH_BYTES).digest()


_REST: Final = hash_of("")


def _restore(run: HookRun, entry: Entry) -> None:
    _, state, verdict, tries, charged, failed_minute, due = entry
    run.tries, run.charged, run.done = tries, charged, state == _DONE
    run.is_settled_elsewhere = run.done and verdict == _ELSEWHERE
    now, now_monotonic = time.time(), time.monotonic()
    if failed_minute:
        run.first_failed_at = min(_at(failed_minute, _MINUTE_SECONDS) - now, 0.0) + now_monotonic
    run.due_at = max(_at(due, _DUE_SECONDS) - now, 0.0) + now_monotonic if due else 0.0
    if state in _CLASSES:
        run.failed = _failed_earlier(run, _CLASSES[state], verdict)


def _write(work: Work) -> bytes:
    parts = [bytes((_VERSION,))]
    for run in work.runs:
        if not run.is_fresh:
            parts += hash_of(run.name), bytes((_state(run),)), _numbers(run)
    return b"".join(parts)


def _state(run: HookRun) -> int:
    if run.failed is None and isinstance(run.stuck, DeadLetterClass):
        return _STATES[run.stuck] | _VERDICTS.index(Verdict.INFRA_RETRYABLE) << 2
    if run.is_settled_elsewhere:
        return _DONE | _ELSEWHERE << 2
    if run.failed is None:
        return _DONE if run.done else 0
    return _STATES[run.failed.letter_class] | _VERDICTS.index(Verdict(run.failed.failure.verdict)) << 2


def _numbers(run: HookRun) -> bytes:
    now, now_monotonic = time.time(), time.monotonic()
    first_failed_at = run.first_failure_at(now_monotonic)
    failed_at = None if first_failed_at is None else now + first_failed_at - now_monotonic
    is_due_later = run.pending and run.waits_since is None and run.due_at > now_monotonic + _DUE_SECONDS
    due_at = now + run.due_at - now_monotonic if is_due_later else None
    stuck = run.stuck is not None
    numbers = run.tries + stuck, run.charged + stuck, _units(failed_at, _MINUTE_SECONDS), _units(due_at, _DUE_SECONDS)
    return pack_numbers(numbers)


def _units(at: float | None, unit_seconds: int) -> int:
    return 0 if at is None else max(int(at - _EPOCH_SECONDS) // unit_seconds, 1)


def _at(units: int, unit_seconds: int) -> float:
    return float(_EPOCH_SECONDS + units * unit_seconds)


def _read(saved: bytes) -> Iterator[Entry]:
    """Read hook after hook, and end where something cannot be read."""
    if not saved or saved[0] != _VERSION:
        return
    place = 1
    while place + HASH_BYTES < len(saved):
        name_hash, flags = saved[place : place + HASH_BYTES], saved[place + HASH_BYTES]
        place += HASH_BYTES + 1
        numbers = []
        try:
            for _ in ("tries", "charged", "first failed", "due"):
                number, place = read_number(saved, place)
                numbers.append(number)
        except ValueError:
            return
        if flags >> 2 >= len(_VERDICTS):
            return
        tries, charged, failed_minute, due = numbers
        yield name_hash, flags & 3, flags >> 2, tries, charged, failed_minute, due


def _failed_earlier(run: HookRun, letter_class: DeadLetterClass, verdict: int) -> Failed:
    text = "failed for good before this process began; its log, or that of its predecessor, tells how"
    failure = HookFailure(
        hook=run.name, verdict=str(_VERDICTS[verdict]), exception="hookline.hooks.EarlierFailureError", message=text,
        attempts=run.tries, elapsed_seconds=0.0, code="failed_earlier",
    )  # fmt: skip
    return Failed(letter_class, failure, text, EarlierFailureError(text))


def _digest_as(record: Record, value: bytes) -> str:
    """Digest another value as if it stood in this record, since its own headers are not kept."""
    try:
        return _digest(decode_record(record.key, value, record.headers))
    except MalformedRecordError:
        return ""


def _digest(event: Event) -> str:
    said = json.dumps((event.type, event.version, event.payload), sort_keys=True, default=str)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
