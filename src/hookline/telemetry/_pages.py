"""docs/metrics.md, made from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hookline.telemetry._fields import LOG_FIELDS
from hookline.telemetry._metrics import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.telemetry._families import Spec
    from hookline.telemetry._labels import Label

_INTRO: Final = """\
# Metrics and log fields

Made by `python -m hookline.telemetry > docs/metrics.md` from the tables in the code; a test holds it equal.

## Metrics

At `/metrics`, in Prometheus' text format or OpenMetrics, whichever the scraper asks for. Every series carries the
label `domain`. Units are base units. Where all label values are known a series starts at 0, so that `increase()` sees
the first failure. What is in hand, in retry, held or behind is written down once a second: such a gauge may be that old.

Label values that come from events or settings are bounded: the first so many, and every configured one, keep their
name, all others count as `other`. Values are cleaned and cut to 128 characters. No id, key, offset or error text is a
label. One process is one target; Prometheus' multiprocess mode is not used.

"""

_FIELDS_INTRO: Final = """
## Log fields

JSON lines on standard output, one a record, ASCII with escapes, secrets replaced by `[redacted]`. A string is cut at
4,096 characters, but `payload` never, and a traceback in its middle.

"""


def metrics_page() -> str:
    """Return the text of docs/metrics.md."""
    metrics = _table(("metric", "kind", "labels", "meaning"), map(_metric_row, SPECS))
    labels = _table(("label", "values"), _label_rows())
    fields = _table(("field", "meaning"), ((f"`{name}`", meaning) for name, meaning in LOG_FIELDS.items()))
    return f"{_INTRO}{metrics}\n{labels}{_FIELDS_INTRO}{fields}"


def _metric_row(spec: Spec[Any]) -> tuple[str, ...]:
    labels = ", ".join(f"`{label.name}`" for label in spec.labels)
    buckets = f" Buckets: {', '.join(f'{bucket:g}' for bucket in spec.buckets)}." if spec.buckets else ""
    return f"`{spec.name}`", spec.kind, labels, spec.help + buckets


def _label_rows() -> Iterator[tuple[str, ...]]:
    labels = dict.fromkeys(label for spec in SPECS for label in spec.labels)
    return ((f"`{label.name}`", _values(label)) for label in sorted(labels, key=lambda label: label.name))


def _values(label: Label) -> str:
    if label.closed:
        return ", ".join(f"`{value}`" for value in label.values)
    return f"the first {label.limit:,} and every configured one, then `other`"


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
