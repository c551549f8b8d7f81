"""Dead letters after they were written: reconciled and paged, listed and shown, republished by a person's decision.

The reconciler is a handler for the engine of `hookline.consume`; pagers tell people; `DeadLetters` is the library under the command line and the console.
"""

from __future__ import annotations

from hookline.deadletters._browse import DeadLetters
from hookline.deadletters._clock import Clock
from hookline.deadletters._errors import (
    DeadLettersError,
    PageNotAcceptedError,
    PagerRefusedError,
    PagerUnreachableError,
    PlanRefusedError,
    UnknownDeadLetterError,
    UpdateOwedError,
)
from hookline.deadletters._execute import Fate, Report, Result, Sender
from hookline.deadletters._filter import Filter
from hookline.deadletters._incidents import IncidentBook, IncidentKey, Sighting
from hookline.deadletters._letters import StoredLetter
from hookline.deadletters._pagers import AlertmanagerPager, AnyPage, Pager, Receiver, WebhookPager
from hookline.deadletters._pages import Page, PageWriter
from hookline.deadletters._plan import LeftOut, Plan, PlannedLetter
from hookline.deadletters._reconciler import Reconciler, ReconcilerSettings
from hookline.deadletters._replays import is_replay_group, replay_group
from hookline.deadletters._republished import LETTER_HEADER, RepublishedIndex
from hookline.deadletters._rows import Detail, Row
from hookline.deadletters._waits import WaitingPage, WaitingPager

__all__ = [
    "LETTER_HEADER",
    "AlertmanagerPager",
    "AnyPage",
    "Clock",
    "DeadLetters",
    "DeadLettersError",
    "Detail",
    "Fate",
    "Filter",
    "IncidentBook",
    "IncidentKey",
    "LeftOut",
    "Page",
    "PageNotAcceptedError",
    "PageWriter",
    "Pager",
    "PagerRefusedError",
    "PagerUnreachableError",
    "Plan",
    "PlanRefusedError",
    "PlannedLetter",
    "Receiver",
    "Reconciler",
    "ReconcilerSettings",
    "Report",
    "RepublishedIndex",
    "Result",
    "Row",
    "Sender",
    "Sighting",
    "StoredLetter",
    "UnknownDeadLetterError",
    "UpdateOwedError",
    "WaitingPage",
    "WaitingPager",
    "WebhookPager",
    "is_replay_group",
    "replay_group",
]
