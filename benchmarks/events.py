"""The events of the workloads: which subjects, in which order, and their records as a publisher of hookline writes them."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hookline import Event
from hookline.contract import HookEvent, encode_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.contract import Headers

__all__ = ["SEED", "Made", "hottest", "make_events", "one_event", "subject_name", "uniform_subjects", "zipf_subjects"]

SEED = 20_261_130
_SOURCE, _TYPE = "submitqueue", "batch.failed"
_WRITTEN_AT_MS = 1_796_032_800_000


class Made(NamedTuple):
    """A record of a workload, and what it is about; versions of a subject count from 1."""

    subject: str
    version: int
    key: bytes
    value: bytes
    headers: Headers


def uniform_subjects(events: int, subjects: int) -> list[int]:
    """Give every event a subject, each as often as any other, in turns."""
    return [number % subjects for number in range(events)]


def zipf_subjects(events: int, subjects: int) -> list[int]:
    """Give every event a subject by Zipf's law with exponent 1: number k as often as 1 / (k + 1). Always the same ones."""
    weights = [1 / (rank + 1) for rank in range(subjects)]
    return random.Random(SEED).choices(range(subjects), weights, k=events)  # noqa: S311 - it must be repeatable


def hottest(subjects: Sequence[int]) -> int:
    """Tell how many events the subject with the most has."""
    return Counter(subjects).most_common(1)[0][1]


def make_events(subjects: Sequence[int]) -> Iterator[Made]:
    """Make the record of every event, the same bytes as `encode_event`, at a tenth of its cost."""
    versions: Counter[int] = Counter()
    names = {subject: subject_name(subject) for subject in set(subjects)}
    pattern = encode_event(one_event(subject_name(0), 1))
    message, headers = HookEvent.FromString(pattern.value), dict(pattern.headers)
    for subject in subjects:
        versions[subject] += 1
        yield _made(message, headers, names[subject], versions[subject])


def subject_name(number: int) -> str:
    """Name a subject as it stands in the key."""
    return f"batch-{number:06}"


def one_event(subject: str, version: int) -> Event:
    """Make the event of a subject and version, about 220 bytes as protobuf."""
    return Event.versioned(
        source=_SOURCE,
        type=_TYPE,
        subject=subject,
        version=version,
        timestamp_ms=_WRITTEN_AT_MS,
        payload={
            "batch_id": "batch-778",
            "queue": "go-monorepo",
            "error": "merge conflict in foo/bar.go",
            "conflict_paths": ["foo/bar.go"],
        },
    )


def _made(message: HookEvent, headers: dict[str, bytes | None], subject: str, version: int) -> Made:
    message.id = f"{_SOURCE}/{_TYPE}/{subject}/{version}"
    message.version = version
    key = subject.encode()
    headers["ce_id"], headers["ce_subject"] = message.id.encode(), key
    return Made(subject, version, key, message.SerializeToString(deterministic=True), tuple(headers.items()))
