"""Metric families: a line of the table, and the typed family that `Metrics` gives for it.

They are collectors of our own: the client library's take a lock for each count, which costs more than an event may.
Only its public interface for collectors is used.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from itertools import accumulate
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Sample

from hookline.telemetry._series import Counter, Gauge, Histogram, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prometheus_client import CollectorRegistry, Metric

    from hookline.telemetry._labels import Bound, Label

PREFIX: Final = "hookline_"
DOMAIN: Final = "domain"

H = TypeVar("H", Counter, Gauge, Histogram)


class Family(ABC, Generic[H]):
    """Hold one metric of one domain. Safe from any thread."""

    def __init__(self, spec: Spec[Any], bounds: Mapping[str, Bound], domain: str) -> None:
        self._name: str = spec.name
        self._help: str = spec.help
        self._names = (DOMAIN, *bounds)
        self._bounds = bounds
        self._domain = domain
        self._shows_created = _shows_created()
        # No larger than the bounds allow: it is keyed by folded values.
        self._series: dict[tuple[str, ...], Series[H]] = {}

    def labels(self, **values: object) -> H:
        """Return the calling thread's handle on the series of these label values, to be kept where it is hot.

        Only the thread that asked may write a counter or a histogram through it; a gauge has one handle for all.
        Exactly the labels of the table must be given: anything else raises TypeError. Values are folded into their
        bound, so any value is safe.
        """
        key, owner = self._key(values), self._owner()
        series = self._series.get(key)
        if series is None:
            series = self._series.setdefault(key, Series(self._make, owner))
        return series.handle(owner)

    def remove(self, **values: object) -> None:
        """Take a series away, as of a partition that moved; a handle kept on it then counts nothing."""
        self._series.pop(self._key(values), None)

    def describe(self) -> Iterable[Metric]:
        """Return the metric without samples, by which a registry knows the names that are taken."""
        return [self._empty()]

    @abstractmethod
    def collect(self) -> Iterable[Metric]:
        """Return the metric as it stands now."""

    def _key(self, values: Mapping[str, object]) -> tuple[str, ...]:
        if values.keys() != self._bounds.keys():
            raise TypeError(f"this metric has the labels {sorted(self._bounds)}, not {sorted(values)}")
        return (self._domain, *[bound.fold(values[name]) for name, bound in self._bounds.items()])

    def _all(self) -> Iterator[tuple[tuple[str, ...], tuple[H, ...], float | None]]:
        """Yield each series: its label values, its handles, and when it began, if that is shown."""
        for key, series in self._series.copy().items():
            yield key, series.handles(), series.created if self._shows_created else None

    @staticmethod
    def _owner() -> int:
        return get_ident()

    @abstractmethod
    def _make(self) -> H: ...

    @abstractmethod
    def _empty(self) -> Metric: ...


class CounterFamily(Family[Counter]):
    """Count what happened."""

    def inc(self, amount: float = 1, **values: object) -> None:
        """Add `amount` to one series; a negative one raises ValueError."""
        self.labels(**values).inc(amount)

    def collect(self) -> Iterable[Metric]:
        """Return the metric as it stands now."""
        metric = self._empty()
        for key, handles, created in self._all():
            metric.add_metric(key, float(sum(handle.total for handle in handles)), created)
        return [metric]

    def _make(self) -> Counter:
        return Counter()

    def _empty(self) -> CounterMetricFamily:
        return CounterMetricFamily(self._name, self._help, labels=self._names)


class GaugeFamily(Family[Gauge]):
    """Show what is."""

    def set(self, value: float, **values: object) -> None:
        """Set one series."""
        self.labels(**values).set(value)

    def collect(self) -> Iterable[Metric]:
        """Return the metric as it stands now."""
        metric = self._empty()
        for key, handles, _ in self._all():
            for handle in handles:
                metric.add_metric(key, float(handle.value))
        return [metric]

    @staticmethod
    def _owner() -> int:
        return 0

    def _make(self) -> Gauge:
        return Gauge()

    def _empty(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self._name, self._help, labels=self._names)


class HistogramFamily(Family[Histogram]):
    """Show how long it took."""

    def __init__(self, spec: Spec[Any], bounds: Mapping[str, Bound], domain: str) -> None:
        super().__init__(spec, bounds, domain)
        self._upper: tuple[float, ...] = spec.buckets
        self._les = (*map(str, spec.buckets), "+Inf")

    def observe(self, seconds: float, **values: object) -> None:
        """Add one observation, in seconds."""
        self.labels(**values).observe(seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the metric as it stands now."""
        metric = self._empty()
        for key, handles, created in self._all():
            counts = map(sum, zip(*(handle.counts for handle in handles), strict=True))
            buckets = zip(self._les, map(float, accumulate(counts)), strict=True)
            metric.add_metric(key, list(buckets), float(sum(handle.total for handle in handles)))
            if created is not None:
                # The interface has no place for it in a histogram.
                metric.samples.append(
                    Sample(f"{self._name}_created", dict(zip(self._names, key, strict=True)), created)
                )
        return [metric]

    def _make(self) -> Histogram:
        return Histogram(self._upper)

    def _empty(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._name, self._help, labels=self._names)


def _shows_created() -> bool:
    """Tell whether `_created` samples are wanted, by the variable that the client library reads."""
    return os.environ.get("PROMETHEUS_DISABLE_CREATED_SERIES", "").lower() not in {"true", "1", "t"}


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
        family = self._family(bounds, domain)
        registry.register(family)
        return family

    def _family(self, bounds: Mapping[str, Bound], domain: str) -> F:
        raise NotImplementedError


class CounterSpec(Spec[CounterFamily]):
    """Describe a counter."""

    kind = "counter"

    def _family(self, bounds: Mapping[str, Bound], domain: str) -> CounterFamily:
        return CounterFamily(self, bounds, domain)


class GaugeSpec(Spec[GaugeFamily]):
    """Describe a gauge."""

    kind = "gauge"

    def _family(self, bounds: Mapping[str, Bound], domain: str) -> GaugeFamily:
        return GaugeFamily(self, bounds, domain)


class HistogramSpec(Spec[HistogramFamily]):
    """Describe a histogram of seconds."""

    kind = "histogram"

    def _family(self, bounds: Mapping[str, Bound], domain: str) -> HistogramFamily:
        return HistogramFamily(self, bounds, domain)
