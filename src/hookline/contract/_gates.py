"""Gates on the control topic: what an operator has closed, one compacted record for each.

A gate is known by its key alone: `gate/<domain>/<hook>/<subject>`, each component written as in an id, an empty hook or
subject standing for all. A record under a key closes, the record without a value (a tombstone) opens. So what is closed
is told by the last record of each key, whatever compaction has left of the others.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from hookline.contract._errors import InvalidGateError
from hookline.contract._times import format_time, is_representable, parse_time

__all__ = ["MAX_REASON_CHARS", "Gate", "GateKey", "GateRecord", "decode_gate", "encode_gate", "encode_gate_key"]

MAX_REASON_CHARS: Final = 1_000
"""How long a reason, or the name of who closed, may be; what is longer is cut."""

_KIND: Final = b"gate/"
_ANY_KIND: Final = re.compile(rb"[a-z][a-z0-9_-]*/")
_PARTS: Final = 3
_VERSION: Final = 1
_MAX_VALUE_BYTES: Final = 65_536


class GateKey(NamedTuple):
    """What a gate closes: a domain, one of its hooks, one of its subjects, or one hook for one subject."""

    domain: str
    hook: str = ""
    """Empty for every hook."""
    subject: str = ""
    """Empty for every subject."""

    @property
    def scope(self) -> str:
        """Name how much it closes: `domain`, `hook` or `subject`, the last also for one hook of a subject."""
        if self.subject:
            return "subject"
        return "hook" if self.hook else "domain"

    def __str__(self) -> str:
        parts = [f"{name} {value}" for name, value in (("hook", self.hook), ("subject", self.subject)) if value]
        return " of ".join([*parts, f"domain {self.domain}"])


@dataclass(frozen=True, slots=True)
class Gate:
    """A closed gate: what it closes, why, who closed it and when (ms since the epoch, 0 when not known)."""

    domain: str
    hook: str = ""
    """Empty for every hook."""
    subject: str = ""
    """Empty for every subject."""
    reason: str = ""
    closed_by: str = ""
    closed_at_ms: int = 0

    @property
    def key(self) -> GateKey:
        """What it closes; at most one gate has it."""
        return GateKey(self.domain, self.hook, self.subject)


@dataclass(frozen=True, slots=True)
class GateRecord:
    """What a record says of one gate: closed, or open when `gate` is None.

    `problem` says why the value could not be read; the gate is closed then all the same, for only a tombstone opens.
    """

    key: GateKey
    gate: Gate | None
    problem: str = ""


def encode_gate_key(key: GateKey) -> bytes:
    """Write the key of a gate's records. Injective; raises InvalidGateError without a domain, and for text that is no Unicode."""
    if not key.domain:
        raise InvalidGateError("a gate needs a domain")
    try:
        return _KIND + "/".join(quote(part, safe="") for part in key).encode()
    except UnicodeEncodeError as error:
        raise InvalidGateError("a gate's domain, hook or subject holds a lone surrogate") from error


def encode_gate(gate: Gate) -> tuple[bytes, bytes]:
    """Write the record that closes a gate: (key, value). Raises InvalidGateError, also for a time that cannot be written.

    What a reason holds that is no Unicode is replaced, and what is too long is cut.
    """
    document: dict[str, str | int] = {
        "version": _VERSION,
        "reason": _tidy(gate.reason),
        "closed_by": _tidy(gate.closed_by),
    }
    if gate.closed_at_ms:
        if not is_representable(gate.closed_at_ms):
            raise InvalidGateError("closed_at_ms lies outside the years 1 to 9999")
        document["closed_at"] = format_time(gate.closed_at_ms)
    return encode_gate_key(gate.key), json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def decode_gate(key: bytes | None, value: bytes | None) -> GateRecord | None:
    """Read a record of the control topic; None for one of another kind (`<word>/…`), as a later version may write.

    Raises InvalidGateError for a key that names neither a gate nor a kind. Never raises anything else.
    """
    if key is None or not key.startswith(_KIND):
        _require_other_kind(key)
        return None
    found = _read_key(key)
    if value is None:
        return GateRecord(found, None)
    try:
        document = _read_object(value)
    except ValueError as error:
        return GateRecord(found, Gate(*found), str(error))
    reason, closed_by = _text(document, "reason"), _text(document, "closed_by")
    return GateRecord(found, Gate(*found, reason, closed_by, _time_ms(document)))


def _require_other_kind(key: bytes | None) -> None:
    if key is None or _ANY_KIND.match(key) is None:
        raise InvalidGateError("the key names no kind of record")


def _read_key(key: bytes) -> GateKey:
    parts = key.removeprefix(_KIND).split(b"/")
    if len(parts) != _PARTS:
        raise InvalidGateError(f"the key has {len(parts)} components, not {_PARTS}")
    try:
        found = GateKey(*(unquote_to_bytes(part).decode() for part in parts))
    except UnicodeDecodeError as error:
        raise InvalidGateError("the key is not UTF-8") from error
    # Written otherwise it would be a second key of the same gate, and opening one would leave the other closed.
    if encode_gate_key(found) != key:
        raise InvalidGateError("the key is not written as the key of a gate is")
    return found


def _read_object(value: bytes) -> dict[str, object]:
    """Read a JSON object. Raises ValueError with what is wrong, and nothing of the value in it."""
    if len(value) > _MAX_VALUE_BYTES:
        raise ValueError(f"the value is longer than {_MAX_VALUE_BYTES} bytes")
    try:
        document = json.loads(value.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError("the value is not JSON") from error
    if not isinstance(document, dict):
        raise ValueError("the value is not a JSON object")  # noqa: TRY004 - one kind of error for whatever is wrong
    return document


def _text(document: dict[str, object], name: str) -> str:
    text = document.get(name, "")
    return _tidy(text) if isinstance(text, str) else ""


def _tidy(text: str) -> str:
    return text[:MAX_REASON_CHARS].encode(errors="replace").decode()


def _time_ms(document: dict[str, object]) -> int:
    text = document.get("closed_at")
    try:
        return parse_time(text) if isinstance(text, str) else 0
    except ValueError:
        return 0
