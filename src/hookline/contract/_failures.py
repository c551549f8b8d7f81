"""Which hooks failed, and how: the document in the header hookline-dlq-failure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Final

__all__ = ["FailureDocument", "HookFailure", "clip_text"]

_MESSAGE_BYTES: Final = 4096
_NAME_BYTES: Final = 256
_CAUSES: Final = 8
_BRIEF_BYTES: Final = 128
_MARK: Final = "…"


@dataclass(frozen=True, slots=True)
class HookFailure:
    """One hook that failed for good.

    `verdict` is the classification's name, `exception` the dotted class of the leaf error, `message` its text
    (redacted before it comes here), `attempts` how often the hook ran, `elapsed_seconds` from its first attempt to
    its last, `code` a stable snake_case word, `host` and `http_status` whom it called and what came back, `causes`
    the bounded chain below the error, one line each, `location` the place in the code that raised, such as
    `app/my_hooks.py:10 in handle`, at most 256 bytes, without source text or values.
    """

    hook: str
    verdict: str
    exception: str
    message: str
    attempts: int
    elapsed_seconds: float
    code: str
    host: str | None = None
    http_status: int | None = None
    causes: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True, slots=True)
class FailureDocument:
    """The failures of one dead letter; `truncated` says that text was cut, never that a hook is missing."""

    failures: tuple[HookFailure, ...] = ()
    truncated: bool = False

    def to_json(self, *, limit_bytes: int) -> str:
        """Write the document in at most `limit_bytes`, as far as the names of the hooks allow.

        Shrinks in steps: each text to its own bound, then causes dropped and messages cut, then names and codes
        alone. No hook is ever left out: a republish must know every one that failed.
        """
        for step in (_bounded, _brief):
            text = _dump([step(failure) for failure in self.failures], truncated=self.truncated or step is _brief)
            if len(text) <= limit_bytes:
                return text
        bare = [{"hook": failure.hook, "code": clip_text(failure.code, 64)} for failure in self.failures]
        return _dump(bare, truncated=True)

    @classmethod
    def from_json(cls, text: bytes | None) -> FailureDocument:
        """Read a document as far as it can be read; what is missing or has the wrong type is empty."""
        try:
            document = json.loads(text or b"{}")
        except (ValueError, RecursionError):
            return cls()
        if not isinstance(document, dict):
            return cls()
        members = document.get("hooks")
        read = [_read_failure(member) for member in members] if isinstance(members, list) else []
        return cls(tuple(failure for failure in read if failure), truncated=document.get("truncated") is True)


def clip_text(text: str, limit_bytes: int) -> str:
    """Cut text to at most `limit_bytes` of UTF-8 at a character's boundary, marked with an ellipsis.

    What UTF-8 cannot hold is replaced by `?`.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    return data[: max(limit_bytes - len(_MARK.encode()), 0)].decode("utf-8", "ignore") + _MARK


def _bounded(failure: HookFailure) -> dict[str, Any]:
    return _document(
        replace(
            failure,
            message=clip_text(failure.message, _MESSAGE_BYTES),
            exception=clip_text(failure.exception, _NAME_BYTES),
            causes=tuple(clip_text(cause, _NAME_BYTES) for cause in failure.causes[:_CAUSES]),
        )
    )


def _brief(failure: HookFailure) -> dict[str, Any]:
    message, exception = clip_text(failure.message, _BRIEF_BYTES), clip_text(failure.exception, _BRIEF_BYTES)
    location = failure.location and clip_text(failure.location, _BRIEF_BYTES)
    return _document(replace(failure, message=message, exception=exception, causes=(), location=location))


def _document(failure: HookFailure) -> dict[str, Any]:
    document = {
        "hook": failure.hook,
        "verdict": clip_text(failure.verdict, 64),
        "code": clip_text(failure.code, 64),
        "exception": failure.exception,
        "message": failure.message,
        "attempts": failure.attempts,
        "elapsed_seconds": round(failure.elapsed_seconds, 3) if math.isfinite(failure.elapsed_seconds) else 0.0,
        "host": None if failure.host is None else clip_text(failure.host, _NAME_BYTES),
        "http_status": failure.http_status,
        "causes": list(failure.causes),
        "location": None if failure.location is None else clip_text(failure.location, _NAME_BYTES),
    }
    return {name: member for name, member in document.items() if member not in (None, [])}


def _dump(members: list[dict[str, Any]], *, truncated: bool) -> str:
    document: dict[str, Any] = {"hooks": members}
    if truncated:
        document["truncated"] = True
    return json.dumps(document, separators=(",", ":"))


def _read_failure(member: object) -> HookFailure | None:
    if not isinstance(member, dict) or not isinstance(member.get("hook"), str):
        return None
    causes = member.get("causes")
    return HookFailure(
        hook=member["hook"],
        verdict=_text(member.get("verdict")),
        exception=_text(member.get("exception")),
        message=_text(member.get("message")),
        attempts=_number(member.get("attempts")) or 0,
        elapsed_seconds=_seconds(member.get("elapsed_seconds")),
        code=_text(member.get("code")),
        host=_text(member.get("host")) or None,
        http_status=_number(member.get("http_status")),
        causes=tuple(_text(cause) for cause in causes) if isinstance(causes, list) else (),
        location=_text(member.get("location")) or None,
    )


def _text(member: object) -> str:
    return member.encode("utf-8", "replace").decode() if isinstance(member, str) else ""


def _number(member: object) -> int | None:
    return member if isinstance(member, int) and not isinstance(member, bool) else None


def _seconds(member: object) -> float:
    return float(member) if isinstance(member, float | int) and abs(member) < _FOREVER else 0.0


_FOREVER: Final = 1e12
