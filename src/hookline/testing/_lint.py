"""Holds events, and what a domain declares of them, against the rules of a hook topic."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from hookline.contract import (
    MAX_EXACT_INTEGER,
    InvalidEventError,
    encode_event,
    mint_unversioned_id,
    mint_versioned_id,
)

from ._catalogue import FieldKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookline.contract import Event

    from ._catalogue import EventType

MAX_BYTES: Final = 65_536
MAX_FIELDS: Final = 20

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_ID: Final = re.compile(r"(?:.*_)?ids?|.*_ns|.*_us")
_BOOKKEEPING: Final = frozenset(
    {"state", "status", "version", "created_at", "updated_at", "deleted_at", "created_by", "updated_by", "etag"}
)
_BOOKKEEPING_OF_A_ROW: Final = 3
_FIELDS_OF_A_ROW: Final = 4
_ALL_KINDS: Final = get_args(FieldKind)
_KINDS: Final[Mapping[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that is broken. `code` is a stable word, the rest are sentences: where, what, and what to do."""

    code: str
    where: str
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.advice} [{self.code}]"


def assert_catalogue(catalogue: Iterable[EventType], samples: Iterable[Event] = ()) -> None:
    """Check a catalogue and sample events of it. Raises AssertionError with all findings, one a line."""
    findings = lint_catalogue(catalogue, samples)
    if findings:
        raise AssertionError("\n".join(["the event catalogue breaks rules of a hook topic:", *map(str, findings)]))


def lint_catalogue(catalogue: Iterable[EventType], samples: Iterable[Event] = ()) -> list[Finding]:
    """Find what breaks the rules in a catalogue, and in sample events, each of which must be of a declared type.

    docs/testing.md lists the rules.
    """
    declared = list(catalogue)
    found = list(_twice(declared))
    for each in declared:
        found += _of_type(each)
    known = {(each.source, each.type): each for each in declared}
    for event in samples:
        found += _undeclared(event) if (event.source, event.type) not in known else ()
        found += lint_event(event, known.get((event.source, event.type)))
    return found


def lint_event(event: Event, declared: EventType | None = None) -> list[Finding]:
    """Find what breaks the rules in one event, also those of its declaration when that is given."""
    where = f"{event.source} {event.type} {event.id}"
    found = [*_name(where, event.type), *_snapshots(where, "payload", event.payload, event.type)]
    found += [*_big_integers(where, "payload", event.payload), *_size(where, event), *_minted(where, event)]
    if declared is None:
        return [*found, *_has_subject(where, event)]
    return [*found, *_as_declared(where, event, declared)]


# ── declarations ──────────────────────────────────────────────────────────────────────────────────────────────────


def _twice(declared: list[EventType]) -> Iterator[Finding]:
    for name, times in Counter(str(each) for each in declared).items():
        if times > 1:
            yield Finding("declared_twice", name, f"is declared {times} times", "keep one declaration")


def _of_type(declared: EventType) -> Iterator[Finding]:
    where = str(declared)
    yield from _name(where, declared.type)
    if declared.subject not in declared.payload:
        yield Finding(
            "no_subject",
            f"{where}, payload",
            f"the subject's id, {declared.subject}, is not among the fields that are always there",
            "add it: hooks read the subject from the payload",
        )
    yield from _many_fields(where, declared.fields)
    yield from _bookkeeping(where, "payload", declared.fields)
    for name, kind in declared.fields.items():
        if kind not in _ALL_KINDS:
            yield Finding(
                "kind", f"{where}, payload.{name}", f"is declared a {kind}", f"declare one of {', '.join(_ALL_KINDS)}"
            )
        if kind == "number" and _ID.fullmatch(name):
            yield Finding(
                "number_as_id",
                f"{where}, payload.{name}",
                "is an id or a fine time, and a number: numbers are doubles, exact to 2**53 only",
                "declare it a string",
            )


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _name(where: str, type: str) -> Iterator[Finding]:
    if _TYPE.fullmatch(type) is None:
        yield Finding(
            "type_name",
            where,
            f"{type!r} is no dotted lower-case name",
            'name it like "batch.failed": thing, then what happened',
        )


def _undeclared(event: Event) -> Iterator[Finding]:
    yield Finding("undeclared_type", f"{event.source} {event.type}", "is in no declaration", "add it to the catalogue")


def _has_subject(where: str, event: Event) -> Iterator[Finding]:
    if event.subject not in event.payload.values():
        yield Finding(
            "no_subject",
            f"{where}, payload",
            f"no field holds the subject's id, {event.subject!r}",
            "add one: hooks read the subject from the payload",
        )


def _as_declared(where: str, event: Event, declared: EventType) -> Iterator[Finding]:
    if event.payload.get(declared.subject) != event.subject:
        yield Finding(
            "no_subject",
            f"{where}, payload.{declared.subject}",
            f"is {event.payload.get(declared.subject)!r}, the subject {event.subject!r}",
            "put the subject's id there",
        )
    if declared.versioned is not (event.version > 0):
        what = (
            "has no version and is declared versioned"
            if declared.versioned
            else "has a version and is declared without"
        )
        yield Finding("version", where, what, "make it with Event.versioned or Event.unversioned, as it is declared")
    for name in declared.payload.keys() - event.payload.keys():
        yield Finding("missing_field", f"{where}, payload.{name}", "is not there", "send it, or declare it optional")
    for name, value in event.payload.items():
        yield from _field(f"{where}, payload.{name}", value, declared.fields.get(name))


def _field(where: str, value: object, declared: str | None) -> Iterator[Finding]:
    kind = _KINDS.get(value.__class__) or ("list" if isinstance(value, list) else "object")
    if declared is None:
        yield Finding("undeclared_field", where, "is in no declaration", "declare it: payloads only ever gain fields")
    elif value is not None and kind != declared:
        yield Finding("kind", where, f"is a {kind}, declared a {declared}", "send what is declared")


def _minted(where: str, event: Event) -> Iterator[Finding]:
    try:
        is_minted = event.id == _minted_id(event)
    except InvalidEventError:
        is_minted = False
    if not is_minted:
        yield Finding(
            "id",
            where,
            f"the id {event.id!r} is not minted from source, type, subject and {'version' if event.version else 'cause'}",
            "make the event with Event.versioned or Event.unversioned: a replay must have the same id",
        )


def _minted_id(event: Event) -> str:
    if event.version:
        return mint_versioned_id(event.source, event.type, event.subject, event.version)
    *_, cause, ordinal = event.id.split("/")
    start = mint_unversioned_id(event.source, event.type, event.subject, "", 0).removesuffix("/0")
    return f"{start}{cause}/{ordinal}" if cause and ordinal.isdecimal() else ""


def _size(where: str, event: Event) -> Iterator[Finding]:
    try:
        size_bytes = len(encode_event(event).value)
    except InvalidEventError as error:
        yield Finding("not_publishable", where, f"publish would refuse it: {error}", "mend it")
        return
    if size_bytes > MAX_BYTES:
        yield Finding(
            "too_large",
            where,
            f"takes {size_bytes:,} bytes, and {MAX_BYTES:,} are much for facts",
            "send a reference to what is large",
        )


def _big_integers(where: str, path: str, value: object) -> Iterator[Finding]:
    if isinstance(value, bool):
        return
    if isinstance(value, int) and abs(value) > MAX_EXACT_INTEGER:
        yield Finding(
            "big_integer",
            f"{where}, {path}",
            "is an integer beyond 2**53, which a double cannot hold",
            "send it as a string",
        )
    for name, member in _members(value):
        yield from _big_integers(where, f"{path}{name}", member)


def _snapshots(where: str, path: str, value: object, type: str) -> Iterator[Finding]:
    """Find what looks like a whole entity: too many fields, a row's bookkeeping, or an object named as the type's thing."""
    if isinstance(value, dict):
        if path == "payload":
            yield from _many_fields(where, value)
        yield from _bookkeeping(where, path, value)
        thing = value.get(type.partition(".")[0])
        if path == "payload" and isinstance(thing, dict) and len(thing) >= _FIELDS_OF_A_ROW:
            yield _snapshot(where, f"{path}.{type.partition('.')[0]}", f"is an object of {len(thing)} fields")
    for name, member in _members(value):
        yield from _snapshots(where, f"{path}{name}", member, type)


def _many_fields(where: str, fields: Mapping[str, object]) -> Iterator[Finding]:
    if len(fields) > MAX_FIELDS:
        yield _snapshot(where, "payload", f"has {len(fields)} fields, more than {MAX_FIELDS}")


def _bookkeeping(where: str, path: str, fields: Mapping[str, object]) -> Iterator[Finding]:
    kept = sorted(_BOOKKEEPING & fields.keys())
    if len(kept) >= _BOOKKEEPING_OF_A_ROW:
        yield _snapshot(where, path, f"holds {', '.join(kept)}, as a row of a table does")


def _snapshot(where: str, path: str, what: str) -> Finding:
    advice = "send the ids and the facts that are stored nowhere else: hooks read the entity where it lives"
    return Finding("snapshot", f"{where}, {path}", what, advice)


def _members(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f".{name}", member) for name, member in cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        yield from ((f"[{place}]", member) for place, member in enumerate(value))
