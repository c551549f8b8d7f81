"""Every field of our log lines by name."""

from __future__ import annotations

from typing import Final

LOG_FIELDS: Final[dict[str, str]] = {
    "timestamp": "When, RFC 3339 in UTC with milliseconds.",
    "level": "debug, info, warning, error or critical.",
    "event": "What happened, in words that stay the same.",
    "logger": "The module that says so.",
    "domain": "The domain of the stage.",
    "topic": "The topic of the record it is about.",
    "partition": "Its partition.",
    "offset": "Its offset.",
    "event_id": "The event's id; unique together with source.",
    "source": "The event's source.",
    "type": "The event's type.",
    "subject": "The event's subject.",
    "version": "The event's version.",
    "payload": "The event's payload, never cut; off with `[dead_letters] log_payload = false`.",
    "hook": "The hook it is about.",
    "attempt": "Which attempt, from 1.",
    "verdict": "What the failure means (docs/errors.md).",
    "code": "Why, as one stable word.",
    "error": "The failure on one line.",
    "host": "The host that failed or refused.",
    "http_status": "What it answered.",
    "delay_seconds": "How long until the next attempt.",
    "elapsed_seconds": "How long it took.",
    "pager": "The pager it is about.",
    "trace_id": "The trace it belongs to.",
    "span_id": "The span it belongs to.",
    "exception": "The traceback, its middle cut when it is long.",
    "stack": "The stack of the caller who asked for it.",
}
"""Field name to meaning. Others may come, from hooks and libraries; these mean one thing everywhere."""

WHOLE_FIELDS: Final = frozenset({"payload"})
"""Fields that are never cut."""
