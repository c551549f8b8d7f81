"""What a failure is about: the subjects and details that hooks attached on the way up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from hookline.errs._text import clean, cut
from hookline.errs._walk import chains, wraps
from hookline.errs._wraps import AttributedError, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.errs._redact import Redactor

MAX_SUBJECTS: Final = 32
MAX_DETAILS: Final = 32
_MAX_ITEMS: Final = 32
_MAX_DEPTH: Final = 4
_MAX_TEXT_BYTES: Final = 1024
_MAX_NAME_BYTES: Final = 256
_MAX_CHAINS: Final = 20_000
_MAX_INT_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class Attribution:
    """Hold what a failure is about; no subjects means unattributed, which is not "nobody's fault"."""

    subjects: tuple[Subject, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)


def attribution(error: BaseException, *, redactor: Redactor) -> Attribution:
    """Collect what `attribute` and `detail` attached, outermost first, over all members of a group.

    Subjects are de-duplicated; of two details of one name the outer wins, and among members the first. At most 32 of
    each; values are JSON-shaped, redacted, cleaned and bounded. Never raises.
    """
    subjects: dict[Subject, None] = {}
    details: dict[str, object] = {}
    for wrap in _attached(error):
        subjects.update(dict.fromkeys(_subject(subject, redactor) for subject in wrap.subjects[:MAX_SUBJECTS]))
        for name, value in islice(wrap.detail.items(), MAX_DETAILS):
            details.setdefault(_text(name, redactor, _MAX_NAME_BYTES), _plain(value, redactor, _MAX_DEPTH))
    return Attribution(tuple(islice(subjects, MAX_SUBJECTS)), dict(islice(details.items(), MAX_DETAILS)))


def _attached(error: BaseException) -> Iterator[AttributedError]:
    for found in islice(chains(error), _MAX_CHAINS):
        every = (wrap for node in found for wrap in wraps(node))
        yield from (wrap for wrap in every if isinstance(wrap, AttributedError))


def _subject(subject: Subject, redactor: Redactor) -> Subject:
    return Subject(_text(subject.type, redactor, _MAX_NAME_BYTES), _text(subject.id, redactor, _MAX_NAME_BYTES))


def _plain(value: object, redactor: Redactor, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _MAX_INT_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping) and depth:
        items = islice(value.items(), _MAX_ITEMS)
        return {_text(name, redactor, _MAX_NAME_BYTES): _plain(each, redactor, depth - 1) for name, each in items}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray) and depth:
        return [_plain(each, redactor, depth - 1) for each in islice(value, _MAX_ITEMS)]
    return _text(value, redactor, _MAX_TEXT_BYTES)


def _text(value: object, redactor: Redactor, max_bytes: int) -> str:
    try:
        text = str.__getitem__(str(value), slice(0, max_bytes * 16))
    except Exception as failed:  # noqa: BLE001  # somebody else's __str__
        text = f"(its text cannot be read: {type(failed).__name__})"
    return cut(clean(redactor.redact(text)), max_bytes)
