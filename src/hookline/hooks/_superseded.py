"""Whether an event is out of date."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import Event
    from hookline.telemetry import Metrics

superseded_in_run: Final[ContextVar[Callable[[], None] | None]] = ContextVar("superseded_in_run", default=None)
"""What counts a superseded event of the run that goes on in this context; None outside of a stage.

A stage sets it before it calls a hook, whose context, tasks and thread are copies of the stage's: so a hook counts without
knowing of metrics.
"""


def is_superseded(event: Event, current_version: int) -> bool:
    """Tell whether the subject has moved on since an event: `current_version` is the one that is stored now.

    An event without a version is never superseded: nothing tells. Within a stage it is counted for the hook that asks,
    in `hookline_superseded_total`, each time that it asks. Elsewhere it is only told.
    """
    if not 0 < event.version < current_version:
        return False
    count = superseded_in_run.get()
    if count is not None:
        count()
    return True


def count_superseded(metrics: Metrics, hook: str) -> Callable[[], None]:
    """Give what counts a superseded event of a hook, for `superseded_in_run`. To be called from any thread."""
    return lambda: metrics.superseded_total.inc(hook=hook)
