"""Telemetry: every metric and every log field by name, in one place.

`Metrics` holds a domain's metrics on a registry of its own; a hot path keeps a handle on a series, which is a
`Counter`, `Gauge` or `Histogram` for the thread that asked. `configure_logging` turns every log record of the process
into one redacted line. No I/O but the log stream; safe from any thread.
"""

from hookline.telemetry._fields import LOG_FIELDS
from hookline.telemetry._logs import LogFormat, configure_logging, get_logger
from hookline.telemetry._metrics import SPECS, Metrics
from hookline.telemetry._pages import metrics_page
from hookline.telemetry._series import Counter, Gauge, Histogram

__all__ = [
    "LOG_FIELDS",
    "SPECS",
    "Counter",
    "Gauge",
    "Histogram",
    "LogFormat",
    "Metrics",
    "configure_logging",
    "get_logger",
    "metrics_page",
]
