"""Wraps that say something about an error without changing what it is.

Exception
+-- WrappedError          transparent: prints, describes and resolves as the error inside
    +-- ClassifiedError   carries a verdict
    +-- AttributedError   carries subjects and details

They cross to another process, as the error of a process pool does, with what they carry.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from hookline.errs._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.contract import Subject

MAX_SUBJECTS: Final = 32
MAX_DETAILS: Final = 32


class WrappedError(Exception):
    """Stand around `error`, which is also the `__cause__`.

    Never seen in a description: wherever a failure is shown, the error inside is shown.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error
        self.__cause__ = error

    def __str__(self) -> str:
        return str(self.error)


class ClassifiedError(WrappedError):
    """Carry the verdict its raiser chose; no classifier is asked."""

    def __init__(self, error: BaseException, verdict: Verdict) -> None:
        super().__init__(error)
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassifiedError, (self.error, self.verdict)


class AttributedError(WrappedError):
    """Carry what a failure is about; says nothing about its verdict.

    Of subjects and of details one more is kept than is ever told, so that it is known that some were left out.
    """

    def __init__(
        self, error: BaseException, subjects: Iterable[Subject] = (), detail: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(error)
        self.subjects = tuple(islice(subjects, MAX_SUBJECTS + 1))
        self.detail: Mapping[str, object] = dict(islice((detail or {}).items(), MAX_DETAILS + 1))

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributedError, (self.error, self.subjects, self.detail)


def user_error(error: BaseException) -> Exception:
    """Say that whoever caused the event is at fault: permanent, and nobody's outage."""
    return ClassifiedError(error, Verdict.USER)


def retryable_error(error: BaseException) -> Exception:
    """Say that trying again may help; bounded by attempts."""
    return ClassifiedError(error, Verdict.INFRA_RETRYABLE)


def dependency_error(error: BaseException) -> Exception:
    """Say that a dependency refused for good: permanent, and counted by no breaker as an outage."""
    return ClassifiedError(error, Verdict.INFRA_DEPENDENCY)


def retryable_dependency_error(error: BaseException) -> Exception:
    """Say that a dependency is away for now; bounded by time, not by attempts."""
    return ClassifiedError(error, Verdict.INFRA_DEPENDENCY_RETRYABLE)


def attribute(error: BaseException, subjects: Iterable[Subject]) -> Exception:
    """Name what the failure is about, without classifying it.

    It is told in the dead letter, its log line and its page: at most 32 subjects.
    """
    return AttributedError(error, subjects)


def detail(error: BaseException, mapping: Mapping[str, object]) -> Exception:
    """Attach facts to the failure, without classifying it; of two details of one name the outer wins.

    They are told in the dead letter and its log line: at most 32, JSON-shaped, 4 KiB in all.
    """
    return AttributedError(error, detail=mapping)
