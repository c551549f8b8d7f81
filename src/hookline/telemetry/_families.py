"""Metric families: a line of the table, and the typed handle on it that `Metrics` gives."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry

    from hookline.telemetry._labels import Bound, Label

PREFIX: Final = "hookline_"
DOMAIN: Final = "domain"

M = TypeVar("M", bound=MetricWrapperBase)


class Family(Generic[M]):
    """Hold one metric of one domain. Safe from any thread."""

    def __init__(self, metric: M, bounds: Mapping[str, Bound], domain: str) -> None:
        self._metric = metric
        self._bounds = bounds
        self._domain = domain
        # No larger than the bounds allow: it is keyed by folded values.
        self._children: dict[tuple[str, ...], M] = {}

    def labels(self, **values: object) -> M:
        """Return the series of these label values, to be kept where it is hot.

        Exactly the labels of the table must be given: anything else raises TypeError. Values are folded into their
        bound, so any value is safe.
        """
        key = self._key(values)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._metric.labels(*key)
        return child

    def remove(self, **values: object) -> None:
        """Take a series away, as of a partition that moved; a handle kept on it then counts nothing."""
        key = self._key(values)
        self._children.pop(key, None)
        with contextlib.suppress(KeyError):
            self._metric.remove(*key)

    @property
    def metric(self) -> M:
        """The collector itself."""
        return self._metric

    def _key(self, values: Mapping[str, object]) -> tuple[str, ...]:
        if values.keys() != self._bounds.keys():
            raise TypeError(f"this metric has the labels {sorted(self._bounds)}, not {sorted(values)}")
        return (self._domain, *(bound.fold(values[name]) for name, bound in self._bounds.items()))


class CounterFamily(Family[Counter]):
    """Count what happened."""

    def inc(self, amount: float = 1, **values: object) -> None:
        """Add `amount`, never negative, to one series."""
        self.labels(**values).inc(amount)


class GaugeFamily(Family[Gauge]):
    """Show what is."""

    def set(self, value: float, **values: object) -> None:
        """Set one series."""
        self.labels(**values).set(value)


class HistogramFamily(Family[Histogram]):
    """Show how long it took."""

    def observe(self, seconds: float, **values: object) -> None:
        """Add one observation, in seconds."""
        self.labels(**values).observe(seconds)


F = TypeVar("F", bound=Family[Any])


class Spec(Generic[F]):
    """Describe one metric: a line of the table.

    As a class attribute of `Metrics` it types the family that each instance holds under the same name.
    """

    kind: str

    def __init__(self, *labels: Label, help: str, buckets: tuple[float, ...] = ()) -> None:  # noqa: A002  # Prometheus' own word
        self.labels = labels
        self.help = help
        self.buckets = buckets
        self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    @overload
    def __get__(self, instance: None, owner: type) -> Spec[F]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> F: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        """Return the spec on the class; an instance finds its family first, in its own attributes."""
        return self

    @property
    def name(self) -> str:
        """The name as Prometheus sees it."""
        return PREFIX + self.attribute

    def build(self, *, domain: str, bounds: Mapping[str, Bound], registry: CollectorRegistry) -> F:
        """Register the metric and return its family."""
        raise NotImplementedError

    def _names(self) -> tuple[str, ...]:
        return (DOMAIN, *(label.name for label in self.labels))


class CounterSpec(Spec[CounterFamily]):
    """Describe a counter."""

    kind = "counter"

    def build(self, *, domain: str, bounds: Mapping[str, Bound], registry: CollectorRegistry) -> CounterFamily:
        """Register the counter."""
        return CounterFamily(Counter(self.name, self.help, self._names(), registry=registry), bounds, domain)


class GaugeSpec(Spec[GaugeFamily]):
    """Describe a gauge."""

    kind = "gauge"

    def build(self, *, domain: str, bounds: Mapping[str, Bound], registry: CollectorRegistry) -> GaugeFamily:
        """Register the gauge."""
        return GaugeFamily(Gauge(self.name, self.help, self._names(), registry=registry), bounds, domain)


class HistogramSpec(Spec[HistogramFamily]):
    """Describe a histogram of seconds."""

    kind = "histogram"

    def build(self, *, domain: str, bounds: Mapping[str, Bound], registry: CollectorRegistry) -> HistogramFamily:
        """Register the histogram."""
        metric = Histogram(self.name, self.help, self._names(), registry=registry, buckets=self.buckets)
        return HistogramFamily(metric, bounds, domain)
