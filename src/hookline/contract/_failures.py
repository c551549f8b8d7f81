"""Which hooks failed, how, and what it is about: the document in the header hookline-dlq-failure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hookline.contract._payload import freeze_foreign
from hookline.contract._readonly import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["FailureDocument", "HookFailure", "Subject", "clip_text", "subjects_of"]

T = TypeVar("T")

_WORD_BYTES: Final = 64
_MAX_SUBJECTS_READ: Final = 256
_MAX_DEPTH_READ: Final = 16
_FOREVER: Final = 1e12
_MARK: Final = "…"


@dataclass(frozen=True, slots=True)
class Subject:
    """Name one thing a failure is about, such as `Subject("batch", "batch-778")`."""

    type: str
    id: str

    def __str__(self) -> str:
        """Return it as people write it: `batch:batch-778`."""
        return f"{self.type}:{self.id}"


@dataclass(frozen=True, slots=True)
class HookFailure:
    """One hook that failed for good.

    `verdict` is the classification's name, `exception` the dotted class of the leaf error, `message` its text
    (redacted before it comes here), `attempts` how often the hook ran, `elapsed_seconds` from its first attempt to
    its last, `code` a stable snake_case word, `host` and `http_status` whom it called and what came back, `causes`
    the bounded chain below the error, one line each, `location` the place in the code that raised, such as
    `app/my_hooks.py:10 in handle`, at most 256 bytes, without source text or values. `subjects` are what the failure
    is about and `detail` the facts that the hook attached to it, JSON-shaped; `truncated` says that some of either
    were left out.
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
    subjects: tuple[Subject, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict, hash=False)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class FailureDocument:
    """The failures of one dead letter; `truncated` says that something was cut, never that a hook is missing."""

    failures: tuple[HookFailure, ...] = ()
    truncated: bool = False

    def to_json(self, *, limit_bytes: int) -> str:
        """Write the document in at most `limit_bytes`, as far as the names of the hooks allow.

        Shrinks in steps: causes, details and subjects first, then messages, in the end to names and codes alone. No
        hook is ever left out: a republish must know every one that failed. A detail that is no JSON is left out.
        """
        for bounds in _STEPS:
            writer = _Writer(bounds)
            members = [writer.member(failure) for failure in self.failures]
            text = _dump(members, truncated=self.truncated or writer.has_cut)
            if len(text) <= limit_bytes:
                return text
        bare = [{"hook": failure.hook, "code": clip_text(failure.code, _WORD_BYTES)} for failure in self.failures]
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


def subjects_of(failures: Iterable[HookFailure]) -> tuple[Subject, ...]:
    """Return what failures are about, each once: every hook that failed, and what was attached."""
    every = ((Subject("hook", failure.hook), *failure.subjects) for failure in failures)
    return tuple(dict.fromkeys(subject for subjects in every for subject in subjects))


def clip_text(text: str, limit_bytes: int) -> str:
    """Cut text to at most `limit_bytes` of UTF-8 at a character's boundary, marked with an ellipsis.

    What UTF-8 cannot hold is replaced by `?`.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    return data[: max(limit_bytes - len(_MARK.encode()), 0)].decode("utf-8", "ignore") + _MARK


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How much of one failure is written."""

    message_bytes: int
    name_bytes: int = 256
    causes: int = 8
    subjects: int = 32
    detail_bytes: int = 4096


_STEPS: Final = (
    _Bounds(message_bytes=4096),
    _Bounds(message_bytes=2048, causes=3, subjects=16, detail_bytes=1024),
    _Bounds(message_bytes=512, causes=0, subjects=4, detail_bytes=256),
    _Bounds(message_bytes=512, name_bytes=128, causes=0, subjects=2, detail_bytes=0),
    _Bounds(message_bytes=128, name_bytes=128, causes=0, subjects=2, detail_bytes=0),
    _Bounds(message_bytes=64, name_bytes=64, causes=0, subjects=0, detail_bytes=0),
)


class _Writer:
    """Writes failures within bounds, and knows whether anything had to be cut for them."""

    def __init__(self, bounds: _Bounds) -> None:
        self._bounds = bounds
        self.has_cut = False

    def member(self, failure: HookFailure) -> dict[str, Any]:
        """Return what is written of a failure; what is empty is left out."""
        bounds = self._bounds
        seconds = failure.elapsed_seconds
        self.has_cut |= failure.truncated
        document = {
            "hook": failure.hook,
            "verdict": self._text(failure.verdict, _WORD_BYTES),
            "code": self._text(failure.code, _WORD_BYTES),
            "exception": self._text(failure.exception, bounds.name_bytes),
            "message": self._text(failure.message, bounds.message_bytes),
            "attempts": failure.attempts,
            "elapsed_seconds": round(seconds, 3) if math.isfinite(seconds) else 0.0,
            "host": None if failure.host is None else self._text(failure.host, bounds.name_bytes),
            "http_status": failure.http_status,
            "causes": [self._text(cause, bounds.name_bytes) for cause in self._few(failure.causes, bounds.causes)],
            "location": None if failure.location is None else self._text(failure.location, bounds.name_bytes),
            "subjects": [self._subject(each) for each in self._few(failure.subjects, bounds.subjects)],
            "detail": self._detail(failure.detail),
            "truncated": failure.truncated or None,
        }
        return {name: member for name, member in document.items() if member not in (None, [], {})}

    def _text(self, text: str, limit_bytes: int) -> str:
        self.has_cut |= len(text.encode("utf-8", "replace")) > limit_bytes
        return clip_text(text, limit_bytes)

    def _few(self, values: Sequence[T], most: int) -> Sequence[T]:
        self.has_cut |= len(values) > most
        return values[:most]

    def _subject(self, subject: Subject) -> dict[str, str]:
        name_bytes = self._bounds.name_bytes
        return {"type": self._text(subject.type, name_bytes), "id": self._text(subject.id, name_bytes)}

    def _detail(self, detail: Mapping[str, object]) -> dict[str, object]:
        kept: dict[str, object] = {}
        left_bytes = self._bounds.detail_bytes
        for name, value in detail.items():
            size = _size_of(name, value)
            if size is None or size > left_bytes:
                self.has_cut = True
                continue
            kept[name] = value
            left_bytes -= size
        return kept


def _size_of(name: str, value: object) -> int | None:
    try:
        return len(json.dumps({name: value}, separators=(",", ":"), allow_nan=False))
    except Exception:  # noqa: BLE001 - whatever is wrong with a detail may not keep the letter from being written
        return None


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
        subjects=_subjects(member.get("subjects")),
        detail=_detail(member.get("detail")),
        truncated=member.get("truncated") is True,
    )


def _text(member: object) -> str:
    return member.encode("utf-8", "replace").decode() if isinstance(member, str) else ""


def _number(member: object) -> int | None:
    return member if isinstance(member, int) and not isinstance(member, bool) else None


def _seconds(member: object) -> float:
    return float(member) if isinstance(member, float | int) and abs(member) < _FOREVER else 0.0


def _subjects(member: object) -> tuple[Subject, ...]:
    found = member[:_MAX_SUBJECTS_READ] if isinstance(member, list) else []
    pairs = ((_text(each.get("type")), _text(each.get("id"))) for each in found if isinstance(each, dict))
    return tuple(Subject(type, id) for type, id in pairs if type or id)


def _detail(member: object) -> Mapping[str, object]:
    if not isinstance(member, dict):
        return EMPTY
    try:
        frozen: Mapping[str, object] = freeze_foreign(member, _MAX_DEPTH_READ)
    except ValueError:
        return EMPTY
    return frozen
