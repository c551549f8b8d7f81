"""Every metric by name: the one table, and the registry that holds it."""

from __future__ import annotations

import importlib.metadata
import time
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry

from hookline.telemetry._exposition import expose
from hookline.telemetry._families import CounterSpec, GaugeSpec, HistogramSpec, Spec
from hookline.telemetry._labels import Bound, Label, clean_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.telemetry._families import Family

_SOURCE: Final = Label("source", limit=16)
_TYPE: Final = Label("type", limit=128)
_HOOK: Final = Label("hook", limit=128)
_PAGER: Final = Label("pager", limit=16)
_CODE: Final = Label("code", limit=32)
_GROUP: Final = Label("group", limit=128)
_PARTITION: Final = Label("partition", limit=4096)
_VERSION: Final = Label("version", limit=1)
_VERDICT: Final = Label(
    "verdict",
    ("unknown", "user", "infra", "infra_retryable", "infra_dependency", "infra_dependency_retryable"),
)
_LETTER_CLASS: Final = Label("class", ("malformed", "permanent", "exhausted", "crashed"))
_RECORD_OUTCOME: Final = Label("outcome", ("done", "duplicate", "retried", "dead_lettered", "malformed", "held"))
_ATTEMPT_OUTCOME: Final = Label("outcome", ("ok", "error"))
_RESULT: Final = Label("result", ("ok", "error"))
_PUBLISH_RESULT: Final = Label("result", ("ok", "invalid", "error"))
_REBALANCE: Final = Label("kind", ("assigned", "revoked", "lost"))
_GATE_SCOPE: Final = Label("scope", ("domain", "hook", "subject"))
_CONTROL_STATE: Final = Label("state", ("off", "starting", "reading", "following", "missing", "unreachable", "refused"))

_LOST_METADATA: Final = Label("reason", ("foreign", "newer", "overflow", "refused", "torn", "unanswered"))

_HOOK_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_PUBLISH_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_AGE_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 86400.0)

# More initial series than this are left to come by themselves.
_MAX_INITIAL: Final = 2048


class Metrics:
    """Hold every metric of one domain, by name, on one registry of its own.

    Each series carries the label `domain`. Families whose label values are all known start at 0, so that `increase()`
    sees the first failure; `declare` makes more of them known. One process, one instance: Prometheus' multiprocess
    mode is not used. Safe from any thread, but for the handles of `labels`, which are each one thread's.
    """

    published_total = CounterSpec(
        _SOURCE, _TYPE, _PUBLISH_RESULT, help="Events given to publish(): confirmed (ok), refused (invalid), failed."
    )
    publish_seconds = HistogramSpec(help="Time from publish() to the broker's confirmation.", buckets=_PUBLISH_BUCKETS)
    records_total = CounterSpec(
        _RECORD_OUTCOME, help="Records by what became of them; retried and held count each time."
    )
    identity_conflicts_total = CounterSpec(
        help="Records of a completed identity that say something else; counted among the duplicates too."
    )
    malformed_total = CounterSpec(_CODE, help="Records that could not be decoded or are invalid, by reason.")
    event_age_seconds = HistogramSpec(help="Age of an event when it was done, by its timestamp.", buckets=_AGE_BUCKETS)
    hook_attempts_total = CounterSpec(_HOOK, _ATTEMPT_OUTCOME, help="Runs of a hook.")
    hook_errors_total = CounterSpec(_HOOK, _VERDICT, help="Failed runs of a hook, by verdict.")
    hook_seconds = HistogramSpec(_HOOK, help="Time one run of a hook took.", buckets=_HOOK_BUCKETS)
    hook_in_flight = GaugeSpec(_HOOK, help="Runs of a hook going on.")
    stuck_hooks = GaugeSpec(_HOOK, help="Runs of a hook that outlived their time limit and could not be ended.")
    breaker_open = GaugeSpec(_HOOK, help="1 while a hook's dependency counts as away and its events wait.")
    held_hooks = GaugeSpec(
        _HOOK, help="1 while a hook that was found broken, or whose receiver is gone, waits for a person."
    )
    skipped_total = CounterSpec(
        _HOOK,
        help="Republished events that named a hook whose condition does not want them any more, which did not run.",
    )
    expired_total = CounterSpec(_HOOK, help="Events that were too old for a hook, which did not run.")
    superseded_total = CounterSpec(_HOOK, help="Events that a hook found out of date: their subject had moved on.")
    gates_closed = GaugeSpec(
        _GATE_SCOPE, help="Gates that are closed: of the domain, of hooks, of subjects or of hooks for a subject."
    )
    waiting_events = GaugeSpec(
        _HOOK, help="Events that wait until a hook may begin: for its dependency, its rate, a place, or a person."
    )
    parked_events = GaugeSpec(_HOOK, help="Events that wait for a hook until a person opens what is closed.")
    control_state = GaugeSpec(
        _CONTROL_STATE, help="1 for how the control topic stands; following: all that is closed is known."
    )
    control_unreadable_total = CounterSpec(
        help="Records of the control topic that could not be read, each time that it is read."
    )
    hook_enabled = GaugeSpec(_SOURCE, help="1 when this host publishes the source's hook events.")
    resolver_errors_total = CounterSpec(help="Events whose hooks could not be resolved.")
    hooks_gone_total = CounterSpec(
        help="Hooks that were gone when an event that was in retry for them was taken up again."
    )
    retries_total = CounterSpec(_HOOK, help="Further attempts that were scheduled for a hook.")
    dead_lettered_total = CounterSpec(_LETTER_CLASS, help="Records confirmed in the dead-letter topic.")
    dead_letter_write_failures_total = CounterSpec(help="Dead letters the broker did not take; each is tried again.")
    dead_letter_held = GaugeSpec(_GROUP, help="Records that hold their partition until their dead letter is written.")
    reconciled_total = CounterSpec(help="Dead letters that the reconciler has taken in and logged. An increase pages.")
    reconciled_by_type_total = CounterSpec(_SOURCE, _TYPE, help="The same, by the event's source and type.")
    pages_total = CounterSpec(_PAGER, _RESULT, help="Pages sent.")
    republished_total = CounterSpec(
        help="Dead letters that the stage has read again after they were put back on their topic."
    )
    lag_records = GaugeSpec(
        _GROUP, _PARTITION, help="Records in the topic that are not settled, as far as the client knows."
    )
    oldest_unsettled_seconds = GaugeSpec(_GROUP, help="Age of the oldest record that is read and not settled.")
    in_flight = GaugeSpec(_GROUP, help="Records being handled.")
    waiting_retry = GaugeSpec(_GROUP, help="Records waiting for their next attempt.")
    lanes = GaugeSpec(_GROUP, help="Subjects with work.")
    paused_partitions = GaugeSpec(_GROUP, help="Partitions whose intake is braked.")
    commits_total = CounterSpec(_RESULT, help="Offset commits, of the stage and of the reconciler.")
    commit_metadata_lost_total = CounterSpec(
        _LOST_METADATA, help="Metadata of commits that was not written whole, or not read: attempts may be forgotten."
    )
    retention_gap_records_total = CounterSpec(help="Records that retention deleted before they were read.")
    unclean_starts_total = CounterSpec(help="Partitions taken over from an owner that went down.")
    rebalances_total = CounterSpec(
        _REBALANCE, help="Partitions that came and went, of the stage and of the reconciler."
    )
    stalled_partitions = GaugeSpec(
        help="Partitions that stand still though records wait and nothing keeps them, of the stage and of the reconciler."
    )
    loop_lag_seconds = GaugeSpec(help="How late the event loop ran a timer: the worst of the last minute.")
    loop_blocked_total = CounterSpec(
        _HOOK, help="Times the event loop stood still for more than a second, by the hook that kept it or unknown."
    )
    ready = GaugeSpec(help="1 while /readyz says so.")
    start_time_seconds = GaugeSpec(help="When the process began, in seconds since 1970.")
    build_info = GaugeSpec(_VERSION, help="Always 1; the version is the label.")

    def __init__(self, *, domain: str, registry: CollectorRegistry | None = None) -> None:
        self.domain = clean_value(domain)
        self.registry = registry if registry is not None else CollectorRegistry()
        self._bounds: dict[Label, Bound] = {label: Bound(label) for spec in SPECS for label in spec.labels}
        self._families = {spec.attribute: self._build(spec) for spec in SPECS}
        self.__dict__.update(self._families)
        self.declare(version=[_version()])
        self.start_time_seconds.set(time.time())
        self.build_info.set(1, version=_version())

    def declare(self, **values: Iterable[str]) -> None:
        """Make values of open labels known, as `declare(hook=["ci"], source=["submitqueue"])`.

        They are kept whatever events bring, and families all of whose values are known now start at 0. May be called
        again as wiring learns more; an unknown or closed label raises TypeError.
        """
        open_bounds = {label.name: bound for label, bound in self._bounds.items() if not label.closed}
        for name, known in values.items():
            if name not in open_bounds:
                raise TypeError(f"{name!r} is not an open label; those are {sorted(open_bounds)}")
            open_bounds[name].declare(known)
        for spec in SPECS:
            self._start_at_zero(spec)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the body and content type of a scrape, OpenMetrics when `accept` asks for it. Never raises."""
        return expose(self.registry, self._families.values(), accept)

    def value(self, name: str, **labels: str) -> float | None:
        """Return one sample by its full name without the prefix, such as "records_total"; None when there is none."""
        return self.registry.get_sample_value(f"hookline_{name}", {"domain": self.domain, **labels})

    def _build(self, spec: Spec[Any]) -> Family[Any]:
        bounds = {label.name: self._bounds[label] for label in spec.labels}
        family: Family[Any] = spec.build(domain=self.domain, bounds=bounds, registry=self.registry)
        return family

    def _start_at_zero(self, spec: Spec[Any]) -> None:
        names = [label.name for label in spec.labels]
        every = list(product(*(self._bounds[label].known() for label in spec.labels)))
        if len(every) > _MAX_INITIAL:
            return
        for values in every:
            self._families[spec.attribute].labels(**dict(zip(names, values, strict=True)))


SPECS: Final[tuple[Spec[Any], ...]] = tuple(spec for spec in vars(Metrics).values() if isinstance(spec, Spec))
"""The table, line by line in its own order."""


def _version() -> str:
    try:
        return importlib.metadata.version("hookline")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
