"""The failures of one delivery, as one error.

ExceptionGroup
+-- HookErrorGroup
Exception
+-- HookCrashedError      stands in a group for what is a BaseException but no Exception
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from hookline.errs._text import one_line
from hookline.errs._walk import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class HookCrashedError(Exception):
    """Stand for a `SystemExit`, `GeneratorExit` or cancellation that a hook raised itself.

    The original is the `__cause__`. An `ExceptionGroup` cannot hold it, and nothing may let it reach the event loop.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"raised {one_line(error)}")
        self.__cause__ = error

    def __reduce__(self) -> tuple[Any, ...]:
        return HookCrashedError, (self.__cause__,)


class HookErrorGroup(ExceptionGroup[Exception]):
    """Hold every hook's failure of one delivery.

    The members are the errors the hooks raised, unwrapped, so `except*` reaches each by its own type. The message is
    one line, so that a failure is one log record.
    """

    @classmethod
    def of(cls, failures: Iterable[tuple[str, BaseException | None]]) -> Self | None:
        """Collect `(hook name, error)` pairs in resolver order; None where a hook succeeded, None when all did."""
        failed = [(hook, error) for hook, error in failures if error is not None]
        if not failed:
            return None
        message = "; ".join(f"hook {hook}: {one_line(error)}" for hook, error in failed)
        return cls(message, [as_exception(error) for _, error in failed])

    def __str__(self) -> str:
        return self.message

    def derive(self, excs: Sequence[Exception]) -> HookErrorGroup:  # type: ignore[override]  # typeshed's derive is generic in the member type; ours is not
        """Keep the type when `except*` or `split` takes members out."""
        return HookErrorGroup(self.message, excs)


def as_exception(error: BaseException) -> Exception:
    """Return `error` itself, or a `HookCrashedError` around what an `ExceptionGroup` cannot hold."""
    return error if is_of(error, Exception) else HookCrashedError(error)
