"""From an error to what a dead letter, a page and a person are told about it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from hookline.contract import HookFailure, Subject
from hookline.errs._attribution import attribution
from hookline.errs._groups import HookCrashedError
from hookline.errs._http import HttpStatusError, http_status, lost_connection
from hookline.errs._location import raised_at
from hookline.errs._retry_after import RETRY_AFTER_LIMIT_SECONDS, parse_retry_after
from hookline.errs._sockets import connection_classifier
from hookline.errs._sql import is_sql
from hookline.errs._text import MAX_LINE_BYTES, clean, cut, dotted, labelled, text_of
from hookline.errs._verdict import Verdict
from hookline.errs._walk import chain, chains, faces, is_group, peek, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.errs._redact import Redactor

T = TypeVar("T")

MAX_MESSAGE_BYTES: Final = 4096
MAX_CAUSES: Final = 8
MAX_CAUSE_BYTES: Final = 256
_MAX_MEMBER_BYTES: Final = 512
_MAX_END_BYTES: Final = 510
_MAX_NAME_BYTES: Final = 256
# What is looked at: a group of more than this says nothing new after it.
_MAX_CHAINS: Final = 20_000
_MAX_FACES: Final = 1_000

# Later than any date that is asked for: without the answer's own time a date says nothing.
_NO_MOMENT: Final = datetime.max.replace(tzinfo=UTC)
_HOST: Final = re.compile(r"[A-Za-z0-9._:%\[\]-]{1,255}")
_HOST_PATHS: Final = (
    ("host",),
    ("request", "url", "host"),
    ("response", "url", "host"),
    ("request_info", "url", "host"),
    ("request", "url"),
    ("response", "url"),
    ("url",),
)


def describe(
    hook: str,
    error: BaseException,
    *,
    verdict: Verdict,
    attempts: int,
    elapsed_seconds: float,
    redactor: Redactor,
    subject: str = "",
) -> HookFailure:
    """Return the failure of one hook, fit for a header, a page and a log line.

    `exception` and `message` are the leaf's: the end of the `__cause__` chain that is no cancellation, and of a group its
    first such member, with the others in the message. `causes` is the way from what the hook raised down to the leaf,
    outermost first, or every leaf of a group, as `module.Class: text`. Everything is redacted, then cleaned, then cut:
    4 KiB of message, eight causes of 256 bytes. Host and HTTP status are taken from the first error that has them,
    the location from where the leaf was raised. `subjects` are the hook, the event's own `subject` when it has one, and what
    was attached; `detail` what was. Never raises, whatever the error does; holds no reference to it.
    """
    seen = list(islice(faces(error), _MAX_FACES))
    trail = _trail(error)
    name = cut(clean(hook), _MAX_NAME_BYTES)
    known = attribution(error, redactor=redactor, about=_about(name, subject))
    return HookFailure(
        hook=name,
        verdict=verdict.value,
        exception=dotted(trail.leaves[0]),
        message=_message(trail, redactor),
        attempts=attempts,
        elapsed_seconds=elapsed_seconds,
        code=_first(_code, seen or [error]) or "hook_exception",
        host=_first(_host, seen),
        http_status=_first(http_status, seen),
        causes=_causes(trail, redactor),
        location=_place(error, trail, redactor),
        subjects=known.subjects,
        detail=known.detail,
        truncated=known.truncated,
    )


def location(error: BaseException, *, redactor: Redactor) -> str | None:
    """Return where `error` comes from, as `app/my_hooks.py:10 in handle`, at most 256 bytes; None when nobody raised it.

    The place of its leaf, in the code that is neither hookline's nor the standard library's nor an installed package's
    when there is one. The file is named with its last two folders; no source text, no values. Never raises.
    """
    return _place(error, _trail(error), redactor)


def line_with_cause(error: BaseException, *, redactor: Redactor) -> str:
    """Return `Class: text` on one line of at most 1 KiB, followed by the leaf's where that is another error.

    `ValueError: cannot map batch <- KeyError: 'k'`: what the hook said, and what is behind it. Of a group it is the
    group's leaves. Redacted; never raises.
    """
    trail = _trail(error)
    if len(trail.leaves) > 1:
        return cut(_message(trail, redactor), MAX_LINE_BYTES)
    ends = [end for end in trail.above[:1] if end is not trail.leaves[0]] + trail.leaves
    return " <- ".join(_short(end, redactor) for end in ends)


def retry_after_seconds(error: BaseException) -> float | None:
    """Return the longest wait that a receiver asked for anywhere in `error`, at most an hour; None when none did.

    Of `HttpStatusError` its own, of an HTTP client's error the answer's `Retry-After`: a date counts from the answer's `Date`.
    """
    asked = (_said(_asked_seconds, node) for node in islice(faces(error), _MAX_FACES))
    return max((seconds for seconds in asked if seconds is not None), default=None)


def _asked_seconds(error: BaseException) -> float | None:
    if http_status(error) is None:
        return None
    if isinstance(error, HttpStatusError):
        seconds = error.retry_after_seconds
        return None if seconds is None else float(min(seconds, RETRY_AFTER_LIMIT_SECONDS))
    headers = peek(error, "response", "headers") or peek(error, "headers")
    return parse_retry_after(headers.get("Retry-After"), _moment(headers.get("Date")))


def _moment(text: str) -> datetime:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return _NO_MOMENT
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _about(hook: str, subject: str) -> tuple[Subject, ...]:
    return (Subject("hook", hook), *((Subject("subject", subject),) if subject else ()))


@dataclass(slots=True)
class _Trail:
    above: list[BaseException] = field(default_factory=list)
    leaves: list[BaseException] = field(default_factory=list)
    more: bool = False


def _trail(error: BaseException) -> _Trail:
    trail = _Trail()
    for count, found in enumerate(chains(error)):
        if count >= _MAX_CHAINS:
            trail.more = True
            break
        seen = _without_cancellation(shown(found))
        if seen and not is_group(found[-1]):
            trail.leaves.append(seen.pop())
        trail.above.extend(seen)
    leaves = [leaf for leaf in trail.leaves if not _is_cancellation(leaf)]
    # No leaf at all: a cause that leads back into its own group, or groups beyond counting.
    trail.leaves = leaves or trail.leaves or trail.above[-1:] or [error]
    return trail


def _without_cancellation(seen: list[BaseException]) -> list[BaseException]:
    """Return a chain without the cancellation at its end: a time limit cancels, and then says so itself."""
    while len(seen) > 1 and _is_cancellation(seen[-1]):
        seen.pop()
    return seen


def _is_cancellation(error: BaseException) -> bool:
    return issubclass(type(error), asyncio.CancelledError)


def _message(trail: _Trail, redactor: Redactor) -> str:
    leaves = trail.leaves
    if len(leaves) == 1:
        return text_of(leaves[0], max_bytes=MAX_MESSAGE_BYTES, redact=redactor.redact)
    listed = "; ".join(_listed(leaves, redactor, _MAX_MEMBER_BYTES))
    count = f"{len(leaves)} errors or more" if trail.more else f"{len(leaves)} errors"
    return cut(f"{count}: {listed}", MAX_MESSAGE_BYTES)


def _short(error: BaseException, redactor: Redactor) -> str:
    text = text_of(error, max_bytes=_MAX_END_BYTES, redact=redactor.redact)
    name = dotted(error).rpartition(".")[2]
    return cut(f"{name}: {text}" if text else name, _MAX_END_BYTES)


def _place(error: BaseException, trail: _Trail, redactor: Redactor) -> str | None:
    # Behind a leaf there can be the cancellation that a time limit used, which knows best where the hook was.
    inside_out = (*reversed(list(chain(trail.leaves[0]))), *reversed(list(chain(error))))
    return raised_at(inside_out, redact=redactor.redact)


def _causes(trail: _Trail, redactor: Redactor) -> tuple[str, ...]:
    nodes = trail.above if len(trail.leaves) == 1 else trail.leaves
    return tuple(_listed(nodes, redactor, MAX_CAUSE_BYTES))


def _listed(nodes: Sequence[BaseException], redactor: Redactor, max_bytes: int) -> list[str]:
    kept = nodes if len(nodes) <= MAX_CAUSES else nodes[: MAX_CAUSES - 1]
    lines = [labelled(node, max_bytes=max_bytes, redact=redactor.redact) for node in kept]
    return lines if len(kept) == len(nodes) else [*lines, f"and {len(nodes) - len(kept)} more"]


def _first(say: Callable[[BaseException], T | None], seen: Sequence[BaseException]) -> T | None:
    return next((said for node in seen if (said := _said(say, node)) is not None), None)


def _said(say: Callable[[BaseException], T | None], node: BaseException) -> T | None:
    try:
        return say(node)
    except Exception:  # noqa: BLE001  # a class may even lie about its own type; it then says nothing
        return None


def _code(error: BaseException) -> str | None:
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    if isinstance(error, HookCrashedError) or not isinstance(error, Exception):
        return "hook_crashed"
    if http_status(error) is not None:
        return "http_status"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "timeout"
    if is_sql(error):
        return "sql"
    away = lost_connection(error) or connection_classifier(error) is not Verdict.UNKNOWN
    return "connection" if away else None


def _host(error: BaseException) -> str | None:
    named = (_host_in(peek(error, *path)) for path in _HOST_PATHS)
    return next((host for host in named if host), None)


def _host_in(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        host = urlsplit(value).hostname or "" if "://" in value else value
    except ValueError:
        return None
    return host if _HOST.fullmatch(host) else None
