"""Wired hooks and trials of them, as people and scripts read them. What plug-ins and events say is shown, never obeyed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from hookline.consume import GiveUp, Hold, Retry
from hookline.hooks import TrialOutcome
from hookline.service import Origin

from ._options import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.contract import HookFailure, JsonValue
    from hookline.hooks import Trial
    from hookline.service import HookRow

_WORDS: Final = {
    TrialOutcome.DONE: "done",
    TrialOutcome.HELD: "held: it asked to be run again later",
    TrialOutcome.FAILED: "failed",
    TrialOutcome.STUCK: "stuck: past its time limit it went on and could not be ended",
    TrialOutcome.EXPIRED: "expired: not run, the event says that it has expired",
    TrialOutcome.NOT_ENTERED: "not entered: not run, a stage would try to enter it again and let events wait",
    TrialOutcome.DECLINED: "declined: not run, it does not want this event",
}


def hook_lines(rows: Sequence[HookRow]) -> Iterator[str]:
    """Return a heading and a line for each row, separated by tabs: name, kind or class, version, origin, what it wants, error."""
    yield "NAME\tKIND\tVERSION\tORIGIN\tWANTS"
    for row in rows:
        cells = (row.name or "-", row.kind or row.made_of or "-", row.version or "-", _origin(row), _wants(row))
        yield "\t".join(map(printable, (*cells, row.error) if row.error else cells))


def _origin(row: HookRow) -> str:
    if row.origin is Origin.PLUGIN:
        return f"entry point of {row.distribution}"
    return "-" if row.origin is None else str(row.origin)


def _wants(row: HookRow) -> str:
    if row.types is None:
        return "from code" if row.origin is Origin.APP and row.name else "-"
    parts = [", ".join(row.types)]
    if row.sources is not None and "*" not in row.sources:
        parts.append(f"from {', '.join(row.sources)}")
    if row.when is not None:
        parts.append(f"when {row.when}")
    return " ".join(parts)


def trial_lines(trial: Trial) -> Iterator[str]:
    """Return what came of a trial: the event, the outcome, why, and what a stage would do next."""
    event = trial.event
    yield printable(f"hook      {trial.hook}")
    yield printable(f"event     {event.id}, {event.type} of {event.subject or 'no subject'} from {event.source}")
    yield f"outcome   {_WORDS[trial.outcome]}"
    yield f"elapsed   {trial.elapsed_seconds:.3f} s"
    if trial.failure is not None:
        yield from _failure_lines(trial.failure)
    if trial.follows is not None:
        yield printable(f"follows   {_follows(trial.follows)}")
    if trial.leaving is not None:
        yield printable(f"leaving   failed: {trial.leaving.exception}: {trial.leaving.message}")


def _failure_lines(failure: HookFailure) -> Iterator[str]:
    yield printable(f"error     {failure.exception}: {failure.message}")
    yield from (printable(f"          because of {cause}") for cause in failure.causes)
    if failure.location:
        yield printable(f"          at {failure.location}")
    answer = [] if failure.http_status is None else [f"HTTP {failure.http_status}"]
    yield printable(f"verdict   {', '.join([failure.verdict, failure.code, *answer])}")
    if failure.host:
        yield printable(f"host      {failure.host}")
    about = ", ".join(map(str, failure.subjects))
    yield printable(f"about     {about or 'nothing said'}")
    if failure.detail:
        yield "detail"
        yield from (f"  {line}" for line in json_text(_plain(failure.detail)).splitlines())


def _follows(follows: Retry | Hold | GiveUp) -> str:
    if isinstance(follows, GiveUp):
        return f"dead letter, class {follows.letter_class}, code {follows.code}"
    return f"run again in {follows.delay_seconds:.1f} s"


def trial_document(trial: Trial) -> dict[str, JsonValue]:
    """Return a trial as JSON."""
    event, failure = trial.event, trial.failure
    return {
        "hook": trial.hook,
        "event": {"id": event.id, "source": event.source, "type": event.type, "subject": event.subject},
        "outcome": str(trial.outcome),
        "ok": trial.is_ok,
        "elapsed_seconds": round(trial.elapsed_seconds, 6),
        "verdict": None if failure is None else failure.verdict,
        "follows": _follows_document(trial.follows),
        "failure": _failure_document(failure),
        "leaving": _failure_document(trial.leaving),
    }


def _follows_document(follows: Retry | Hold | GiveUp | None) -> JsonValue:
    if follows is None:
        return None
    if isinstance(follows, GiveUp):
        return {"what": "dead_letter", "class": str(follows.letter_class), "code": follows.code}
    what = "retry" if isinstance(follows, Retry) else "hold"
    return {"what": what, "delay_seconds": round(follows.delay_seconds, 3)}


def _failure_document(failure: HookFailure | None) -> JsonValue:
    return None if failure is None else _plain(asdict(failure))


def _plain(document: Any) -> Any:
    """Turn what is JSON in all but its types into dicts and lists."""
    if isinstance(document, dict):
        return {str(name): _plain(member) for name, member in document.items()}
    return [_plain(member) for member in document] if isinstance(document, list | tuple) else document
