"""Events of the catalogue: submitqueue, stovepipe, runway and the job runtime.

Each name is an `EventFactory`: called without arguments it makes a valid event with a realistic payload. `CATALOGUE` are
the types of all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ._factory import EventFactory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.contract import JsonValue

    from ._catalogue import EventType

_QUEUE: Final = "go-monorepo"
_REQUEST: Final = "go-monorepo/12346"
_BATCH: Final = "go-monorepo/batch/778"
_REQUEST_FACTS: Final[Mapping[str, JsonValue]] = {"request_id": _REQUEST, "queue": _QUEUE}
_BATCH_FACTS: Final[Mapping[str, JsonValue]] = {
    "batch_id": _BATCH,
    "queue": _QUEUE,
    "request_ids": [_REQUEST, "go-monorepo/12351"],
    "dependencies": ["go-monorepo/batch/777"],
}
_REVISION: Final = "git://go-monorepo/8f0c2d4b6e1a3957"
_STEPS: Final[list[JsonValue]] = [{"step_id": "step-1", "outputs": [{"id": _REVISION}], "reason": ""}]
_FAILED_STEPS: Final[list[JsonValue]] = [{"step_id": "step-1", "outputs": [], "reason": "merge conflict"}]

_request = partial(EventFactory, "submitqueue", subject="request_id")
_batch = partial(EventFactory, "submitqueue", subject="batch_id")
_build = partial(EventFactory, "submitqueue", subject="batch_id")

# ── submitqueue: requests ─────────────────────────────────────────────────────────────────────────────────────────

request_started = _request(
    type="request.started",
    sample={**_REQUEST_FACTS, "change_uris": ["https://reviews.example.com/D48211"], "land_strategy": "squash"},
    version=1,
)
request_validated = _request(type="request.validated", sample=_REQUEST_FACTS, version=2)
request_batched = _request(type="request.batched", sample={**_REQUEST_FACTS, "batch_id": _BATCH}, version=3)
request_landed = _request(
    type="request.landed", sample={**_REQUEST_FACTS, "batch_id": _BATCH, "revisions": [_REVISION]}, version=4
)
request_failed = _request(
    type="request.failed",
    sample={**_REQUEST_FACTS, "batch_id": _BATCH, "error": "merge conflict", "stage": "conclude"},
    version=4,
    optional=frozenset({"batch_id"}),
)
request_cancelling = _request(
    type="request.cancelling", sample={**_REQUEST_FACTS, "reason": "cancelled by its author"}, version=3
)
request_cancelled = _request(
    type="request.cancelled", sample={**_REQUEST_FACTS, "reason": "cancelled by its author"}, version=4
)

# ── submitqueue: batches ──────────────────────────────────────────────────────────────────────────────────────────

batch_created = _batch(type="batch.created", sample=_BATCH_FACTS, version=2)
batch_speculating = _batch(type="batch.speculating", sample=_BATCH_FACTS, version=3)
batch_merging = _batch(type="batch.merging", sample=_BATCH_FACTS, version=4)
batch_succeeded = _batch(type="batch.succeeded", sample={**_BATCH_FACTS, "steps": _STEPS}, version=5)
batch_failed = _batch(
    type="batch.failed",
    sample={**_BATCH_FACTS, "error": "merge conflict", "failed_step": "step-1", "steps": _FAILED_STEPS},
    version=5,
    optional=frozenset({"failed_step", "steps"}),
)

# ── submitqueue: builds, which have no version ────────────────────────────────────────────────────────────────────

_BUILD_FACTS: Final[Mapping[str, JsonValue]] = {
    "batch_id": _BATCH,
    "build_id": "build-90817",
    "path_id": "path-2",
    "attempt": 1,
    "build_url": "https://ci.example.com/builds/90817",
}

build_started = _build(type="build.started", sample=_BUILD_FACTS)
build_succeeded = _build(type="build.succeeded", sample=_BUILD_FACTS)
build_failed = _build(type="build.failed", sample=_BUILD_FACTS)
build_cancelled = _build(type="build.cancelled", sample=_BUILD_FACTS)

# ── stovepipe ─────────────────────────────────────────────────────────────────────────────────────────────────────

_VALIDATION_FACTS: Final[Mapping[str, JsonValue]] = {"request_id": "request/monorepo/main/42", "queue": "monorepo/main"}
_validation = partial(EventFactory, "stovepipe", subject="request_id")

validation_repository_started = _validation(type="validation.repository.started", sample=_VALIDATION_FACTS)
validation_repository_recorded = _validation(
    type="validation.repository.recorded",
    sample={**_VALIDATION_FACTS, "uri": _REVISION, "project": "", "degree": 0.0},
    optional=frozenset({"uri", "project", "degree"}),
)
validation_repository_cancelled = _validation(type="validation.repository.cancelled", sample=_VALIDATION_FACTS)
validation_project_recorded = EventFactory(
    "stovepipe",
    "validation.project.recorded",
    "project",
    {**_VALIDATION_FACTS, "uri": _REVISION, "project": "payments/ledger", "degree": 1.0},
)

# ── runway ────────────────────────────────────────────────────────────────────────────────────────────────────────

_MERGE_FACTS: Final[Mapping[str, JsonValue]] = {
    "batch_id": _BATCH,
    "queue": _QUEUE,
    "outcome": "SUCCEEDED",
    "reason": "",
    "steps": _STEPS,
}
_NO_MERGE_FACTS: Final[Mapping[str, JsonValue]] = {
    **_MERGE_FACTS,
    "outcome": "FAILED",
    "reason": "merge conflict",
    "steps": _FAILED_STEPS,
}
_CHECK_FACTS: Final[Mapping[str, JsonValue]] = {
    "request_id": _REQUEST,
    "queue": _QUEUE,
    "outcome": "SUCCEEDED",
    "reason": "",
    "steps": _STEPS,
}
_NO_CHECK_FACTS: Final[Mapping[str, JsonValue]] = {
    **_CHECK_FACTS,
    "outcome": "FAILED",
    "reason": "merge conflict",
    "steps": _FAILED_STEPS,
}
_merge = partial(EventFactory, "runway", subject="batch_id")
_merge_check = partial(EventFactory, "runway", subject="request_id")

merge_completed = _merge(type="merge.completed", sample=_MERGE_FACTS)
merge_failed = _merge(type="merge.failed", sample=_NO_MERGE_FACTS)
mergecheck_completed = _merge_check(type="mergecheck.completed", sample=_CHECK_FACTS)
mergecheck_failed = _merge_check(type="mergecheck.failed", sample=_NO_CHECK_FACTS)

# ── the job runtime ───────────────────────────────────────────────────────────────────────────────────────────────

_JOB_FACTS: Final[Mapping[str, JsonValue]] = {
    "job_id": "4711",
    "kind": "send_invoice",
    "queue": "default",
    "attempt": 1,
}
_job = partial(EventFactory, "jobs", subject="job_id")

job_started = _job(type="job.started", sample=_JOB_FACTS, version=2)
job_waiting_for_callback = _job(
    type="job.waiting_for_callback",
    sample={
        **_JOB_FACTS,
        "callback_id": "0b9f6f4e-5d0a-4f0e-9f63-0c3e7f1f6a10",
        "callback_timeout_at": "2026-11-30T11:00:00Z",
    },
    version=3,
)
job_completed = _job(type="job.completed", sample={**_JOB_FACTS, "duration_seconds": 1.25}, version=3)
job_retried = _job(
    type="job.retried",
    sample={**_JOB_FACTS, "error": "connection reset", "next_run_at": "2026-11-30T10:05:00Z"},
    version=3,
)
job_exhausted = _job(
    type="job.exhausted", sample={**_JOB_FACTS, "attempt": 25, "error": "connection reset"}, version=51
)
job_cancelled = _job(type="job.cancelled", sample={**_JOB_FACTS, "reason": "cancelled by an operator"}, version=3)
job_rescued = _job(type="job.rescued", sample={**_JOB_FACTS, "reason": "stale_heartbeat"}, version=3)

FACTORIES: Final[tuple[EventFactory, ...]] = tuple(each for each in vars().values() if isinstance(each, EventFactory))
"""All factories of this module."""
CATALOGUE: Final[tuple[EventType, ...]] = tuple(factory.event_type for factory in FACTORIES)
"""The types of events that they make."""
