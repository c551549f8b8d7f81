"""What a failure means for the delivery that met it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """Say whose failure it is and whether trying again may help.

    The value is the word that stands in dead letters, logs and metrics.
    `UNKNOWN` is permanent: an error nobody claims is never retried.
    Source of the rules: docs/errors.md.
    """

    UNKNOWN = "unknown"
    USER = "user"
    INFRA = "infra"
    INFRA_RETRYABLE = "infra_retryable"
    INFRA_DEPENDENCY = "infra_dependency"
    INFRA_DEPENDENCY_RETRYABLE = "infra_dependency_retryable"

    @property
    def retryable(self) -> bool:
        """Whether the delivery may be tried again: by attempts, or by time when `dependency` too."""
        return self in _RETRYABLE

    @property
    def dependency(self) -> bool:
        """Whether something outside this process failed: what a breaker counts."""
        return self in _DEPENDENCY

    @property
    def rank(self) -> int:
        """The weight in a group: the highest member decides."""
        return _RANK[self]


_RETRYABLE: Final = frozenset({Verdict.INFRA_RETRYABLE, Verdict.INFRA_DEPENDENCY_RETRYABLE})
_DEPENDENCY: Final = frozenset({Verdict.INFRA_DEPENDENCY, Verdict.INFRA_DEPENDENCY_RETRYABLE})
# Spelled out, since the order of declaration is not the order of weight.
_RANK: Final = {
    Verdict.INFRA_RETRYABLE: 5,
    Verdict.INFRA_DEPENDENCY_RETRYABLE: 4,
    Verdict.INFRA: 3,
    Verdict.USER: 2,
    Verdict.INFRA_DEPENDENCY: 1,
    Verdict.UNKNOWN: 0,
}
