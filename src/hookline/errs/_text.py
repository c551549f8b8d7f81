"""The text of errors, made fit for a header, a log line and a page whatever the error does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hookline.errs._walk import chain, face, is_group, peek

if TYPE_CHECKING:
    from collections.abc import Callable

TRUNCATED: Final = "… [truncated]"
MAX_LINE_BYTES: Final = 1024
_MAX_NAME_BYTES: Final = 256
# Redaction runs before the cut, yet not over 50 MB: it sees this much, and the tail that a cut secret could
# stand in is dropped with the rest.
_WINDOW_CHARS: Final = 65_536
_WINDOW_GUARD_CHARS: Final = 1024
_MAX_FIELD_ERRORS: Final = 20

_BREAKS: Final = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
# C0 and C1 controls, bidirectional overrides, surrogates, interlinear marks and the byte order mark.
_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb]"
)


def clean(text: str) -> str:
    """Return `text` on one line, with what cannot be printed or encoded as U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", _BREAKS.sub(" ", text))


def cut(text: str, max_bytes: int) -> str:
    """Return at most `max_bytes` of UTF-8, cut between characters and marked when anything is gone."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    return raw[: max_bytes - len(TRUNCATED.encode())].decode("utf-8", "ignore") + TRUNCATED


def dotted(error: BaseException) -> str:
    """Return the class of `error` as `package.Class`; builtins without theirs, private modules left out."""
    kind = type(error)
    module, name = peek(kind, "__module__"), peek(kind, "__qualname__")
    parts = module.split(".") if isinstance(module, str) and module != "builtins" else []
    public = [part for part in parts if not part.startswith("_")]
    full = ".".join([*public, name if isinstance(name, str) else "?"])
    return cut(clean(full[: _MAX_NAME_BYTES * 4]), _MAX_NAME_BYTES)


def text_of(error: BaseException, *, max_bytes: int, redact: Callable[[str], str] | None = None) -> str:
    """Return what `error` says: redacted, on one line, bounded. Never raises."""
    return window_of(_raw_text(error), max_bytes, redact or str, chars=_WINDOW_CHARS)


def window_of(raw: str, max_bytes: int, redact: Callable[[str], str], *, chars: int = 0) -> str:
    """Return a text redacted, on one line, bounded; of a long one only its first `chars` are looked at."""
    chars = chars or max_bytes * 4 + _WINDOW_GUARD_CHARS
    shown = clean(redact(str.__getitem__(raw, slice(0, chars))))
    if str.__len__(raw) > chars:
        shown = shown[:-_WINDOW_GUARD_CHARS] + TRUNCATED
    return cut(shown, max_bytes)


def one_line(error: BaseException, *, redact: Callable[[str], str] | None = None) -> str:
    """Return `module.Class: text` on one line of at most 1 KiB; a group's own message; a wrap as the error inside."""
    shown = _inside(error)
    if is_group(shown):
        return text_of(shown, max_bytes=MAX_LINE_BYTES, redact=redact)
    return labelled(shown, max_bytes=MAX_LINE_BYTES, redact=redact)


def labelled(error: BaseException, *, max_bytes: int, redact: Callable[[str], str] | None = None) -> str:
    """Return `module.Class: text`, or the class alone when the error says nothing."""
    text = text_of(error, max_bytes=max_bytes, redact=redact)
    return cut(f"{dotted(error)}: {text}" if text else dotted(error), max_bytes)


def _inside(error: BaseException) -> BaseException:
    return next((node for node in map(face, chain(error)) if node is not None), error)


def _raw_text(error: BaseException) -> str:
    try:
        return _fields_text(error) or str(error)
    except BaseException as failed:  # noqa: BLE001  # an error's own __str__ may raise anything, SystemExit too; the report must survive it
        return f"(its text cannot be read: {type(failed).__name__})"


def _fields_text(error: BaseException) -> str | None:
    # pydantic's text repeats the input, which is payload; its parts do not.
    if not str(peek(type(error), "__module__")).startswith("pydantic") or type(error).__name__ != "ValidationError":
        return None
    found = error.errors(include_input=False, include_url=False, include_context=False)  # type: ignore[attr-defined]  # pydantic's, known by its name: errs imports no pydantic
    lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_MAX_FIELD_ERRORS]]
    return f"{len(found)} validation errors: " + "; ".join(lines)
