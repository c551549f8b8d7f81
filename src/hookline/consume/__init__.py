"""The engine: order per subject, commits of what is settled only, retries that hold nothing.

One thread owns the Kafka consumer (`Poller`); one event loop runs everything that a handler touches (`Engine`). The way
of a record: fetched -> lane of its subject -> handler -> outcome -> settled -> committed.
"""

from ._commits import MOST_CHARACTERS, shorter_metadata
from ._dead_letters import DeadLetterWriter, Sender
from ._dedupe import PartIdentity
from ._delivery import Delivery, Fingerprint, Handler, Identity, Memory, Observer, Observers
from ._engine import Engine
from ._invoke import Raised, Returned, Suspended, begin, begin_coroutine, finish, invoke, own_task
from ._marks import Marks, MarksError, RetryState, decode_marks, encode_marks
from ._marks_bytes import pack_numbers, read_number
from ._metered import EngineMeter, MeteredObserver
from ._openings import Recollection
from ._outcome import DONE, Done, Duplicate, GiveUp, Hold, Outcome, Retry, RetryPolicy, decide
from ._settings import EngineSettings, Order
from ._status import EngineLoad, EngineStatus
from ._tracker import OffsetTracker
from ._turn import Turn
from ._watchdog import STALLED_SECONDS, Stall, Standing, Watchdog

__all__ = [
    "DONE",
    "MOST_CHARACTERS",
    "STALLED_SECONDS",
    "DeadLetterWriter",
    "Delivery",
    "Done",
    "Duplicate",
    "Engine",
    "EngineLoad",
    "EngineMeter",
    "EngineSettings",
    "EngineStatus",
    "Fingerprint",
    "GiveUp",
    "Handler",
    "Hold",
    "Identity",
    "Marks",
    "MarksError",
    "Memory",
    "MeteredObserver",
    "Observer",
    "Observers",
    "OffsetTracker",
    "Order",
    "Outcome",
    "PartIdentity",
    "Raised",
    "Recollection",
    "Retry",
    "RetryPolicy",
    "RetryState",
    "Returned",
    "Sender",
    "Stall",
    "Standing",
    "Suspended",
    "Turn",
    "Watchdog",
    "begin",
    "begin_coroutine",
    "decide",
    "decode_marks",
    "encode_marks",
    "finish",
    "invoke",
    "own_task",
    "pack_numbers",
    "read_number",
    "shorter_metadata",
]
