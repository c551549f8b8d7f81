"""The traceback of an error as text that is bounded and without secrets, whatever the error is."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hookline.telemetry._plain import CUT, readable

if TYPE_CHECKING:
    from types import TracebackType

    from hookline.telemetry._plain import Redact

    ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]

_HEAD_CHARS: Final = 4096
_TAIL_CHARS: Final = 12_288
# Redaction sees this much beyond what is shown, for a secret that the cut would split.
_GUARD_CHARS: Final = 8192
_HEAD_WINDOW: Final = _HEAD_CHARS + _GUARD_CHARS
_TAIL_WINDOW: Final = _TAIL_CHARS + _GUARD_CHARS
_MAX_ERRORS: Final = 64
_MAX_FRAMES: Final = 128

# Read past a class that overrides them.
_cause_of: Final[Any] = BaseException.__dict__["__cause__"].__get__
_context_of: Final[Any] = BaseException.__dict__["__context__"].__get__
_members_of: Final[Any] = BaseExceptionGroup.__dict__["exceptions"].__get__


class UnprintableError(Exception):
    """Stand in a log record for an error that Python's own `traceback` stumbles over; the text says which."""


def printable(exc_info: ExcInfo) -> ExcInfo:
    """Return what any handler can print: what was given, or a stand-in at the same place.

    A handler that is not ours asks an error for what it cannot say, and would raise that into whoever logs.
    """
    kind, error, trace = exc_info
    if _is_small(error):
        try:
            traceback.TracebackException(kind, error, trace, limit=1, compact=True)
        except BaseException:  # noqa: BLE001, S110  # a property of somebody's error may raise anything
            pass
        else:
            return exc_info
    return UnprintableError, UnprintableError(readable(error)), trace


def trace_text(exc_info: ExcInfo) -> str:
    """Return what Python prints: the chain of errors and of each at most 128 frames, the deepest.

    Of an error with more than 64 others behind it, or one that cannot be walked, it is that error alone. Never raises.
    """
    kind, error, trace = exc_info
    if _is_small(error):
        try:
            whole = traceback.TracebackException(kind, error, trace, limit=-_MAX_FRAMES, compact=True)
            return "".join(whole.format()).rstrip("\n")
        except BaseException:  # noqa: BLE001, S110  # a property of somebody's error may raise anything; it is told alone
            pass
    frames = traceback.format_tb(trace, limit=-_MAX_FRAMES)
    return "".join(("Traceback (most recent call last), of the outermost error alone:\n", *frames, readable(error)))


def bounded(text: str, redact: Redact) -> str:
    """Return a traceback redacted, its middle cut when it is long."""
    if len(text) > _HEAD_WINDOW + _TAIL_WINDOW:
        head, tail = redact(text[:_HEAD_WINDOW]), redact(text[-_TAIL_WINDOW:])
        # Masks are shorter than secrets: what the window's own edge has split may have moved.
        return _joined(head[: -_GUARD_CHARS // 2], tail[_GUARD_CHARS // 2 :])
    shown = redact(text)
    return shown if len(shown) <= _HEAD_CHARS + _TAIL_CHARS else _joined(shown, shown)


def _joined(head: str, tail: str) -> str:
    return f"{head[:_HEAD_CHARS]}\n{CUT}\n{tail[-_TAIL_CHARS:]}"


def _is_small(error: BaseException) -> bool:
    """Tell whether few errors are behind this one; Python looks at all of them before it prints some."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) <= _MAX_ERRORS:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            members = _members_of(each) if issubclass(type(each), BaseExceptionGroup) else ()
            waiting.extend((_cause_of(each), _context_of(each), *members[: _MAX_ERRORS + 1]))
    return len(seen) <= _MAX_ERRORS
