"""What a failure is about: the subjects and details that hooks attached on the way up."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from hookline.contract import Subject
from hookline.errs._plain import MAX_ITEMS, PlainWriter, hides
from hookline.errs._redact import MASK
from hookline.errs._walk import chains, wraps
from hookline.errs._wraps import AttributedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookline.errs._redact import Redactor

MAX_SUBJECT_BYTES: Final = 2048
MAX_DETAIL_BYTES: Final = 4096
# What is looked at: a group of more than this says nothing new after it.
_MAX_CHAINS: Final = 20_000
_MAX_WRAPS: Final = 256


@dataclass(frozen=True, slots=True)
class Attribution:
    """Hold what a failure is about; no subjects means unattributed, which is not "nobody's fault".

    `truncated` says that some of it was left out.
    """

    subjects: tuple[Subject, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)
    truncated: bool = False


def attribution(error: BaseException, *, redactor: Redactor, about: Iterable[Subject] = ()) -> Attribution:
    """Collect what `attribute` and `detail` attached, outermost first, over all members of a group.

    `about` are subjects that are known beside the error; they come first. Subjects are de-duplicated; of two details of
    one name the outer wins, and among members the first. At most 32 subjects in 2 KiB and 32 details in 4 KiB, JSON-shaped
    values, redacted and cleaned. Never raises.
    """
    found = list(islice(_attached(error), _MAX_WRAPS + 1))
    attached = found[:_MAX_WRAPS]
    names, details = PlainWriter(redactor, MAX_SUBJECT_BYTES), PlainWriter(redactor, MAX_DETAIL_BYTES)
    subjects = _subjects(chain(about, *(wrap.subjects for wrap in attached)), names, redactor)
    members: dict[str, object] = {}
    for name, value in chain(*(wrap.detail.items() for wrap in attached)):
        details.add(members, name, value)
    truncated = names.has_cut or details.has_cut or len(found) > len(attached)
    return Attribution(subjects, members, truncated=truncated)


def _attached(error: BaseException) -> Iterator[AttributedError]:
    for found in islice(chains(error), _MAX_CHAINS):
        every = (wrap for node in found for wrap in wraps(node))
        yield from (wrap for wrap in every if isinstance(wrap, AttributedError))


def _subjects(every: Iterable[object], names: PlainWriter, redactor: Redactor) -> tuple[Subject, ...]:
    subjects: dict[Subject, None] = {}
    for each in every:
        subject = _shown(each, names, redactor)
        if subject in subjects:
            continue
        if len(subjects) < MAX_ITEMS and names.takes(subject.type + subject.id):
            subjects[subject] = None
        else:
            names.has_cut = True
    return tuple(subjects)


def _shown(subject: object, names: PlainWriter, redactor: Redactor) -> Subject:
    # What somebody passed for a subject is told all the same.
    if not issubclass(type(subject), Subject):
        return Subject("unknown", names.name(subject))
    type_, id_ = (names.name(getattr(subject, part, None)) for part in ("type", "id"))
    return Subject(type_, MASK if hides(redactor.redact, type_, id_) else id_)
