"""What a plan sends, what it leaves out, and how it knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import DeadLetterClass, Origin, Redrive
from hookline.deadletters import Filter, LeftOut, PlannedLetter, RepublishedIndex, StoredLetter
from hookline.deadletters._execute import Mandate, redrive_headers
from hookline.deadletters._plan import Plan, Planner
from tests.unit.deadletters.making import DEAD_TOPIC, HOOK_TOPIC, NOW_MS, bare_record, letter, moved, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Headers

Sorted = tuple[list[PlannedLetter], list[tuple[str, LeftOut]]]


def sort(
    letters: Sequence[StoredLetter],
    *,
    chosen: Filter | None = None,
    sent: Sequence[Headers] = (),
    again: bool = False,
    all_hooks: bool = False,
    resumes: str | None = None,
) -> Sorted:
    index = RepublishedIndex()
    index.add_letters(letters)
    for headers in sent:
        index.add_headers(headers)
    planner = Planner(
        {HOOK_TOPIC}, DEAD_TOPIC, index, again=again, all_hooks=all_hooks, max_redrives=3, resumes=resumes
    )
    return planner.sort(letters, chosen or Filter())


def headers_of(planned: PlannedLetter, *, operation: str = "op-1", again: bool = False) -> Headers:
    plan = Plan(operation, NOW_MS, again=again, all_hooks=False)
    return redrive_headers(planned, plan, Mandate("mended", "kim", NOW_MS))


def test_only_the_failed_hooks_run_again() -> None:
    """The header names the hooks that failed; with all hooks, and for a letter that no hook saw, it names none."""
    both = stored(letter(hooks=("ci", "chat")))
    malformed = stored(letter(hooks=(), letter_class=DeadLetterClass.MALFORMED))
    assert sort([both])[0][0].hooks == ("chat", "ci")
    assert sort([both], all_hooks=True)[0][0].hooks is None
    assert sort([malformed])[0][0].hooks is None


def test_what_was_republished_is_left_out_and_counted() -> None:
    """A letter named by a record of the hook topic is left out; ``again`` takes it in."""
    letters = [stored(offset=n) for n in range(4)]
    sent = [headers_of(sort(letters)[0][n]) for n in (0, 2)]
    planned, left_out = sort(letters, sent=sent)
    assert [each.stored.id for each in planned] == ["0/1", "0/3"]
    assert left_out == [("0/0", LeftOut.REPUBLISHED_BEFORE), ("0/2", LeftOut.REPUBLISHED_BEFORE)]
    assert len(sort(letters, sent=sent, again=True)[0]) == 4


def test_a_run_again_that_was_interrupted_leaves_out_what_it_sent() -> None:
    """Given the operation's name, even ``again`` sends a letter once."""
    letters = [stored(offset=n) for n in range(3)]
    sent = [headers_of(sort(letters)[0][0], operation="op-2", again=True)]
    planned, _ = sort(letters, sent=sent, again=True, resumes="op-2")
    assert [each.stored.id for each in planned] == ["0/1", "0/2"]


def test_a_letter_that_came_back_is_republished_in_its_newest_form_only() -> None:
    """When the hook topic has forgotten, a later letter of the same first failure says that the earlier was republished."""
    first = letter(source=Origin(HOOK_TOPIC, 0, 7))
    second = moved(letter(source=Origin(HOOK_TOPIC, 0, 50), redrives=1), first.origin)
    planned, left_out = sort([stored(first, 0), stored(second, 1)])
    assert [each.stored.id for each in planned] == ["0/1"]
    assert left_out == [("0/0", LeftOut.REPUBLISHED_BEFORE)]


def test_copies_of_one_failure_go_once() -> None:
    """A dead letter that was written twice (a crash before the commit) is republished once, whichever copy was."""
    copies = [stored(letter(), offset) for offset in (0, 1)]
    planned, left_out = sort(copies)
    assert [each.stored.id for each in planned] == ["0/0"]
    assert left_out == [("0/1", LeftOut.COPY)]
    assert sort(copies, sent=[headers_of(planned[0])])[0] == []


def test_letters_of_one_record_about_different_hooks_all_go() -> None:
    """P1: a hook that joined the group later fails with the same record later, which is no copy of what failed before."""
    letters = [stored(letter(hooks=hooks), n) for n, hooks in enumerate([("ci",), ("chat",), ("chat", "ci"), ("ci",)])]
    planned, left_out = sort(letters)
    assert [(each.stored.id, each.hooks) for each in planned] == [
        ("0/0", ("ci",)),
        ("0/1", ("chat",)),
        ("0/2", ("chat", "ci")),
    ]
    assert left_out == [("0/3", LeftOut.COPY)]
    sent = [headers_of(planned[0])]
    assert [each.stored.id for each in sort(letters, sent=sent)[0]] == ["0/1", "0/2"]


def test_what_fails_again_after_it_was_republished_is_no_copy() -> None:
    """P14: a replay that is given twice reads the same record in the same group, and may fail again."""
    first = stored(letter(), 0)
    later = stored(replace(letter(), failed_at_ms=NOW_MS + 1), 1)
    sent = [headers_of(sort([first])[0][0])]
    planned, left_out = sort([first, later], sent=sent)
    assert [each.stored.id for each in planned] == ["0/1"]
    assert left_out == [("0/0", LeftOut.REPUBLISHED_BEFORE)]
    without_time = tuple(header for header in sent[0] if header[0] != "hookline-redrive-at")
    assert sort([first, stored(letter(), 1)], sent=sent)[0] == []
    assert sort([first, later], sent=[without_time])[0] == []


def test_a_hook_that_came_back_says_nothing_of_another() -> None:
    """P1: that one hook's letter was republished and failed again does not leave out the other's of the same record."""
    ci, chat = (letter(hooks=(hook,), source=Origin(HOOK_TOPIC, 0, 7)) for hook in ("ci", "chat"))
    again = moved(letter(hooks=("ci",), source=Origin(HOOK_TOPIC, 0, 50), redrives=1), ci.origin)
    planned, left_out = sort([stored(ci, 0), stored(chat, 1), stored(again, 2)])
    assert [each.stored.id for each in planned] == ["0/1", "0/2"]
    assert left_out == [("0/0", LeftOut.REPUBLISHED_BEFORE)]


def test_nothing_goes_but_to_a_hook_topic() -> None:
    """Case 21 (dlq-loops): an origin that is unknown, foreign, or the dead-letter topic itself is refused."""
    foreign = StoredLetter.read(bare_record(b"k", b"v"))
    elsewhere = stored(letter(source=Origin("orders", 0, 1)), 1)
    looped = stored(letter(source=Origin(DEAD_TOPIC, 0, 1)), 2)
    planned, left_out = sort([foreign, elsewhere, looped])
    assert planned == []
    assert [why for _, why in left_out] == [
        LeftOut.ORIGIN_UNKNOWN,
        LeftOut.ORIGIN_NOT_A_HOOK_TOPIC,
        LeftOut.ORIGIN_NOT_A_HOOK_TOPIC,
    ]


def test_redrives_are_bounded() -> None:
    """Case 21 (dlq-loops): an event that keeps failing does not go round for ever."""
    planned, left_out = sort([stored(letter(redrives=3))])
    assert planned == []
    assert left_out == [("0/0", LeftOut.TOO_MANY_REDRIVES)]


@given(st.integers(0, 6), st.sets(st.integers(0, 5)))
def test_a_limit_counts_what_goes(limit: int, sent: set[int]) -> None:
    """The same limited command again goes on where the last one ended: what was sent does not use the limit up."""
    letters = [stored(offset=n) for n in range(6)]
    headers = [headers_of(sort(letters)[0][n]) for n in sent]
    planned, _ = sort(letters, chosen=Filter(limit=limit), sent=headers)
    assert [each.stored.record.offset for each in planned] == [n for n in range(6) if n not in sent][:limit]


def test_headers_name_letter_operation_and_person_and_are_replaced_each_round() -> None:
    """Cases 6 and 10 (header-fidelity, header-growth): the producer's headers stay in order, ours do not pile up."""
    dead = letter()
    first = headers_of(sort([stored(dead)])[0][0])
    assert first[: len(dead.headers)] == dead.headers
    assert Redrive.from_headers(first) == Redrive(1, ("ci",), "op-1", again=False, origin=dead.origin)
    again = letter(source=Origin(HOOK_TOPIC, 1, 1), redrives=1)
    second = headers_of(sort([stored(again)])[0][0])
    assert sorted(name for name, _ in second) == sorted(name for name, _ in first)


def test_a_plan_says_what_it_will_do() -> None:
    """Counts per topic, per hook and code, and per reason to leave out are in the document."""
    planned, left_out = sort(
        [stored(offset=0), stored(letter(hooks=()), 1), StoredLetter.read(bare_record(None, None))]
    )
    document = Plan(
        "op", NOW_MS, again=False, all_hooks=False, letters=tuple(planned), left_out=tuple(left_out)
    ).document()
    assert document["planned"] == 2
    assert document["topics"] == {HOOK_TOPIC: 2}
    assert document["left_out"] == {"origin_unknown": 1}
    assert document["reasons"] == [
        {"hook": None, "code": "http_status", "count": 1},
        {"hook": "ci", "code": "http_status", "count": 1},
    ]
