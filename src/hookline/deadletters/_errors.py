"""What can go wrong with a dead letter after it was written.

The tree::

    DeadLettersError
    ├── PageNotAcceptedError         no acknowledgement of a page; the letter stays (delay_seconds: when to come back)
    │   ├── PagerRefusedError        the pager answered, and not with success (status, retry_after_seconds)
    │   ├── PagerUnreachableError    no answer in time, or no connection
    │   └── UpdateOwedError          the letter waits for its incident's next update page
    ├── UnknownDeadLetterError       no dead letter has this id
    └── PlanRefusedError             this plan may not be executed as it is
"""

from __future__ import annotations


class DeadLettersError(Exception):
    """Root of what the room raises."""


class PageNotAcceptedError(DeadLettersError):
    """No pager has acknowledged the page yet, so the dead letter may not be.

    ``delay_seconds`` says when to try again; None leaves it to the backoff.
    """

    def __init__(self, message: str, *, delay_seconds: float | None = None) -> None:
        super().__init__(message)
        self.delay_seconds = delay_seconds


class PagerRefusedError(PageNotAcceptedError):
    """The pager answered with something other than success."""

    def __init__(self, pager: str, status: int, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"pager {pager} answered {status}", delay_seconds=retry_after_seconds)
        self.pager = pager
        self.status = status


class PagerUnreachableError(PageNotAcceptedError):
    """The pager gave no answer: no connection, or none in time."""

    def __init__(self, pager: str, why: str) -> None:
        super().__init__(f"pager {pager} gave no answer: {why}")
        self.pager = pager


class UpdateOwedError(PageNotAcceptedError):
    """The letter is counted into an incident whose next update page is not due yet."""


class UnknownDeadLetterError(DeadLettersError):
    """No dead letter has this id: it was never there, or retention has taken it."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"there is no dead letter {id}; ids look like partition/offset, as `hookline dlq list` shows them"
        )
        self.id = id


class PlanRefusedError(DeadLettersError):
    """A plan may not be executed as it is: it has been executed, or its reason is missing."""
