"""The engine: order per subject, commits of what is settled only, retries that hold nothing.

One thread owns the Kafka consumer (`Poller`); one event loop runs everything that a handler touches (`Engine`). The way
of a record: fetched -> lane of its subject -> handler -> outcome -> settled -> committed.
"""

from ._dead_letters import DeadLetterWriter
from ._delivery import Delivery, Handler, Identity, Observer, Observers
from ._engine import Engine
from ._invoke import Raised, Returned, invoke
from ._metered import EngineMeter, MeteredObserver
from ._outcome import Done, Duplicate, GiveUp, Hold, Outcome, Retry, RetryPolicy, decide
from ._settings import EngineSettings
from ._status import EngineLoad, EngineStatus
from ._tracker import OffsetTracker

__all__ = [
    "DeadLetterWriter",
    "Delivery",
    "Done",
    "Duplicate",
    "Engine",
    "EngineLoad",
    "EngineMeter",
    "EngineSettings",
    "EngineStatus",
    "GiveUp",
    "Handler",
    "Hold",
    "Identity",
    "MeteredObserver",
    "Observer",
    "Observers",
    "OffsetTracker",
    "Outcome",
    "Raised",
    "Retry",
    "RetryPolicy",
    "Returned",
    "decide",
    "invoke",
]
