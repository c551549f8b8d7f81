"""What a dead letter of the stage says it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.consume import GiveUp
from hookline.contract import DeadLetter, Origin
from hookline.errs import Subject, attribute, detail, user_error
from hookline.hooks import Hooks
from tests.support.hooks import Script, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from collections.abc import Sequence


async def failed(*hooks: Script) -> GiveUp:
    """Run an event into its dead letter."""
    async with stage_of(Hooks({"*": list(hooks)})) as stage:
        outcome = await settle(stage, delivery_of(event_of(subject="batch-778")))
    assert isinstance(outcome, GiveUp)
    return outcome


async def test_every_failure_names_its_hook_and_its_event() -> None:
    """P14: without a word of the hook it is known which one failed, and about what."""
    outcome = await failed(Script("ci", ValueError("no")), Script("chat", KeyError("k")))
    event = Subject("subject", "batch-778")
    assert {each.hook: each.subjects for each in outcome.failures} == {
        "ci": (Subject("hook", "ci"), event),
        "chat": (Subject("hook", "chat"), event),
    }


async def test_what_a_hook_attached_stands_with_its_own_failure() -> None:
    """P14: subjects and facts go to the member of the hook that attached them, from every member of a group it raised."""
    group = ExceptionGroup(
        "g", [attribute(ValueError("a"), [Subject("request", "r-1")]), detail(KeyError("b"), {"step": "merge"})]
    )
    outcome = await failed(Script("ci", user_error(detail(group, {"step": "whole"}))), Script("chat", ValueError("no")))
    ci, chat = outcome.failures
    assert ci.verdict == "user"
    assert (ci.subjects[2:], ci.detail) == ((Subject("request", "r-1"),), {"step": "whole"})
    assert (chat.subjects[2:], chat.detail) == ((), {})


async def test_attribution_reaches_whoever_reads_the_letter() -> None:
    """P14: written into the record and read back, the union names hooks, event and what was attached, each once."""
    outcome = await failed(
        Script("ci", attribute(ValueError(), [Subject("request", "r-1"), Subject("hook", "ci")])),
        Script("chat", detail(ValueError(), {"room": "dev"})),
    )
    assert [str(each) for each in read_back(outcome).subjects] == [
        "hook:ci", "subject:batch-778", "request:r-1", "hook:chat",
    ]  # fmt: skip
    assert [dict(each.detail) for each in read_back(outcome).failures] == [{}, {"room": "dev"}]


async def test_secrets_do_not_travel_with_it() -> None:
    """P15, case 18 (secrets-in-errors): neither by a value's shape, nor by its name, nor in a subject."""
    canary = "s3cr3t-CANARY-0451"
    facts = {"url": f"https://u:{canary}@h/x?token={canary}", "headers": {"Authorization": f"Bearer {canary}"}}
    error = attribute(detail(ValueError(f"password={canary}"), facts), [Subject("url", f"https://u:{canary}@h/")])
    outcome = await failed(Script("ci", error))
    headers = dict(letter_of(outcome).record_headers())
    assert b"CANARY" not in b"".join(value or b"" for value in headers.values())
    assert b"[redacted]" in (headers["hookline-dlq-failure"] or b"")


def letter_of(outcome: GiveUp, headers: Sequence[tuple[str, bytes | None]] = ()) -> DeadLetter:
    """Make the dead letter of an outcome."""
    return DeadLetter.of_record(
        b"k", b"v", tuple(headers), source=Origin("t", 0, 1), group="g", delivery_count=1, letter_class=outcome.letter_class,
        code=outcome.code, message=outcome.message, failed_at_ms=1, failures=outcome.failures,
    )  # fmt: skip


def read_back(outcome: GiveUp) -> DeadLetter:
    """Return the letter as a reader of the dead-letter topic sees it."""
    letter = letter_of(outcome)
    return DeadLetter.from_record(letter.key, letter.value, letter.record_headers())
