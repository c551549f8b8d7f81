"""What several groups know of one partition, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hookline import Event
from hookline.consume import Marks, RetryState
from hookline.consume._marks import gather_marks
from hookline.hooks import Place, join_former_into_own, join_into_own, join_into_shared, read_roster, write_roster
from hookline.hooks._memory import entry_of, hash_of, is_rest_done, restore_runs, write_saved
from hookline.hooks._roster import read_beginning, write_beginning
from hookline.hooks._runs import HookRun
from hookline.hooks._work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

OFFSETS = range(100, 130)
FIRST, END = OFFSETS[0], OFFSETS[-1] + 1
REST, OWN = "rest", ("ours", "theirs")
HOOKS = (REST, *OWN)
EVENT = Event.versioned(source="s", type="t", subject="x", version=1)
MINUTE = 29_700_000

Entries = dict[int, dict[str, tuple[bool, int]]]
"""By offset: what is saved of hooks, whether done, and their tries."""


def settled_sets() -> st.SearchStrategy[frozenset[int]]:
    """Draw what a group has settled: all up to somewhere, and some beyond."""
    far = st.integers(FIRST, END).map(lambda end: frozenset(range(FIRST, end)))
    some = st.frozensets(st.sampled_from(OFFSETS), max_size=8)
    return st.builds(frozenset.union, far, some)


def saved_of(*hooks: str) -> st.SearchStrategy[Entries]:
    """Draw what a group has saved of records in retry."""
    each = st.tuples(st.booleans(), st.integers(1, 9))
    return st.dictionaries(
        st.sampled_from(OFFSETS), st.dictionaries(st.sampled_from(hooks), each, min_size=1), max_size=5
    )


def bytes_of(hooks: Mapping[str, tuple[bool, int]]) -> bytes:
    return write_saved((hash_of(name), int(done), 0, tries, tries, 0, 0) for name, (done, tries) in hooks.items())


def place_of(settled: AbstractSet[int], entries: Entries, note: bytes = b"") -> Place:
    """Make where a group stands that has settled so much."""
    position = next((offset for offset in OFFSETS if offset not in settled), END)
    frontier = max([position - 1, *settled, *entries]) + 1
    delivered = range(position, frontier)
    unsettled = {offset for offset in delivered if offset not in settled}
    states = {offset: RetryState(2, MINUTE, bytes_of(entries[offset])) for offset in entries.keys() & unsettled}
    return Place(position, gather_marks(position, frontier, delivered, unsettled, states, clean=True, note=note))


def runs_of(place: Place, offset: int) -> dict[str, HookRun]:
    """Tell how far each hook has come, for whoever reads this commit."""
    runs = [HookRun(name, None) for name in HOOKS]
    if place.marks.is_settled(offset):
        for run in runs:
            run.done = True
        return {run.name: run for run in runs}
    state = place.marks.state_of(offset)
    restore_runs(Work(EVENT, None, state.saved if state else b"", runs))
    return {run.name: run for run in runs}


def pending(place: Place, offset: int) -> set[str]:
    return {name for name, run in runs_of(place, offset).items() if run.pending}


@given(settled_sets(), saved_of(REST), settled_sets(), saved_of(OWN[0]), settled_sets())
def test_joined_groups_leave_each_hook_the_work_it_had(
    rest: frozenset[int], saved: Entries, ours: frozenset[int], saved_ours: Entries, theirs: frozenset[int]
) -> None:
    """P1, P6: in the shared group a hook has work left exactly where it had before, in its own group or in the shared one."""
    shared = place_of(rest, saved, write_roster([REST]))
    own = {OWN[0]: place_of(ours, saved_ours), OWN[1]: place_of(theirs, {})}
    joined = join_into_shared(shared, own, write_roster(HOOKS))
    for offset in OFFSETS:
        done = {REST} if offset in rest or saved.get(offset, {}).get(REST, (False, 0))[0] else set()
        done |= {OWN[0]} if offset in ours or saved_ours.get(offset, {}).get(OWN[0], (False, 0))[0] else set()
        done |= {OWN[1]} if offset in theirs else set()
        assert pending(joined, offset) == set(HOOKS) - done, offset


@given(settled_sets(), settled_sets(), saved_of(OWN[0]))
def test_tries_go_on_where_they_were(rest: frozenset[int], ours: frozenset[int], saved: Entries) -> None:
    """P6: a hook in retry keeps its budget when its group is joined to the shared one."""
    joined = join_into_shared(place_of(rest, {}), {OWN[0]: place_of(ours, saved)}, b"")
    for offset, hooks in saved.items():
        if offset not in ours:
            run = runs_of(joined, offset)[OWN[0]]
            assert (run.done, run.tries) == hooks[OWN[0]]


@given(settled_sets(), saved_of(REST), settled_sets(), saved_of(OWN[0]))
def test_to_join_again_changes_nothing(
    rest: frozenset[int], saved: Entries, ours: frozenset[int], saved_ours: Entries
) -> None:
    """P6: a crash between the commit and the deletion of the other group only repeats the join."""
    own = {OWN[0]: place_of(ours, saved_ours)}
    once = join_into_shared(place_of(rest, saved, write_roster([REST])), own, write_roster([REST, OWN[0]]))
    twice = join_into_shared(once, own, write_roster([REST, OWN[0]]))
    assert [pending(once, each) for each in OFFSETS] == [pending(twice, each) for each in OFFSETS]


@given(settled_sets(), settled_sets(), settled_sets())
def test_what_the_shared_group_has_done_since_counts(
    rest: frozenset[int], ours: frozenset[int], since: frozenset[int]
) -> None:
    """P6: a group that could not be deleted is joined again later, and takes back nothing that the shared group settled."""
    note = write_roster([REST, OWN[0]])
    once = join_into_shared(place_of(rest, {}), {OWN[0]: place_of(ours, {})}, note)
    later = place_of({each for each in OFFSETS if once.marks.is_settled(each)} | since, {}, note)
    again = join_into_shared(later, {OWN[0]: place_of(ours, {})}, note)
    for offset in since:
        assert OWN[0] not in pending(again, offset)


@given(settled_sets(), settled_sets(), settled_sets())
def test_a_hook_that_joins_later_is_not_taken_for_the_rest(
    rest: frozenset[int], ours: frozenset[int], theirs: frozenset[int]
) -> None:
    """P1: where the shared group says that all but one hook is done, a second hook that joins has its own work left."""
    once = join_into_shared(place_of(rest, {}), {OWN[0]: place_of(ours, {})}, write_roster([REST, OWN[0]]))
    joined = join_into_shared(once, {OWN[1]: place_of(theirs, {})}, write_roster(HOOKS))
    for offset in OFFSETS:
        assert (OWN[1] in pending(joined, offset)) == (offset not in theirs)
        assert (OWN[0] in pending(joined, offset)) == (offset not in ours)


@given(settled_sets(), settled_sets())
def test_a_malformed_record_that_was_buried_is_known_as_such(rest: frozenset[int], ours: frozenset[int]) -> None:
    """P12: what the shared group has settled and is read again says so, also where no hook can be resolved."""
    joined = join_into_shared(place_of(rest, {}), {OWN[0]: place_of(ours, {})}, b"")
    for offset in OFFSETS:
        state = joined.marks.state_of(offset)
        is_open = not joined.marks.is_settled(offset)
        assert is_rest_done(state.saved if is_open and state else b"") == (is_open and offset in rest)


@given(settled_sets(), saved_of(REST), settled_sets(), saved_of(OWN[0]))
def test_a_joined_place_can_be_committed(
    rest: frozenset[int], saved: Entries, ours: frozenset[int], saved_ours: Entries
) -> None:
    """P6: what was put together is read as it was written."""
    joined = join_into_shared(place_of(rest, saved), {OWN[0]: place_of(ours, saved_ours)}, write_roster(HOOKS))
    assert Place.read(joined.write()) == joined


@given(settled_sets(), settled_sets(), saved_of(OWN[0]))
def test_a_hooks_group_learns_what_the_shared_one_has_done(
    ours: frozenset[int], rest: frozenset[int], saved: Entries
) -> None:
    """P6: joined to a hook's own group, what either has settled is settled; nothing is joined when that adds nothing."""
    own, shared = place_of(ours, saved), place_of(rest, {}, write_roster([OWN[0]]))
    joined = join_into_own(own, shared, OWN[0])
    assert (joined is None) == (rest <= ours)
    for offset in OFFSETS:
        assert (joined or own).marks.is_settled(offset) == (offset in ours | rest)


@given(settled_sets(), settled_sets(), st.sampled_from(OFFSETS))
def test_what_a_group_began_behind_is_not_settled(ours: frozenset[int], theirs: frozenset[int], beginning: int) -> None:
    """P1: a group that began where a start says has run nothing before that, so it settles nothing there for another."""
    began = Place.beginning(beginning)
    other = place_of({*range(FIRST, beginning), *theirs}, {}, began.marks.note)
    own = place_of(ours, {})
    joined = join_into_own(own, other, OWN[0]) or own
    for offset in OFFSETS:
        assert joined.marks.is_settled(offset) == (offset in ours or (offset in theirs and offset >= beginning))


@given(settled_sets(), settled_sets(), st.sampled_from(OFFSETS), st.sampled_from(OFFSETS))
def test_what_a_former_name_had_left_is_left(
    ours: frozenset[int], theirs: frozenset[int], began: int, former_began: int
) -> None:
    """P1, P6: of a hook that began anew under a new name, what neither has run is to do from where the first of them began."""
    own = place_of({*range(FIRST, began), *ours}, {}, write_beginning(began))
    former = place_of({*range(FIRST, former_began), *theirs}, {}, write_beginning(former_began))
    joined = join_former_into_own(own, former, *OWN) or own
    for offset in OFFSETS:
        is_done = (offset in ours and offset >= began) or (offset in theirs and offset >= former_began)
        assert joined.marks.is_settled(offset) == (is_done or offset < min(began, former_began)), offset
    assert joined is own or read_beginning(joined.marks.note) == min(began, former_began)


@given(settled_sets(), saved_of(OWN[0]), saved_of(OWN[0]))
def test_of_two_groups_of_a_hook_the_one_that_has_come_further_counts(
    ours: frozenset[int], saved: Entries, saved_there: Entries
) -> None:
    """P6: an event in retry in both goes on with most tries, and is done where either is done with it."""
    joined = join_into_own(place_of(frozenset(), saved), place_of(ours, saved_there), OWN[0])
    for offset in OFFSETS if joined else ():
        known = [each[offset][OWN[0]] for each in (saved, saved_there) if offset in each]
        if joined and offset not in ours and known:
            run = runs_of(joined, offset)[OWN[0]]
            assert (run.done, run.tries) == max(known)


def test_a_beginning_is_read_as_it_was_written() -> None:
    """What says nothing of it, such as a roster, or is cut, is no beginning."""
    assert read_beginning(write_beginning(1 << 40)) == 1 << 40
    assert [read_beginning(note) for note in (b"", b"\x02", write_roster(["a"]), b"\x02\x80")] == [0, 0, 0, 0]


def test_charges_do_not_count_in_another_group() -> None:
    """P11: who was charged runs alone first in the group that takes over, and nobody is condemned there for it."""
    crashing = Place(FIRST, Marks(FIRST, (), (), clean=True, started=(FIRST,), crashes=((FIRST + 1, 3),), note=b"n"))
    marks = crashing.handed_over().marks
    assert (marks.clean, marks.started, marks.crashes, marks.note) == (False, (FIRST, FIRST + 1), (), b"")
    joined = join_into_shared(Place.at(FIRST), {OWN[0]: crashing}, b"").marks
    assert (joined.clean, joined.started, joined.crashes) == (False, (FIRST, FIRST + 1), ())
    calm = Place.at(FIRST)
    assert calm.handed_over() == calm


def test_a_former_name_counts() -> None:
    """What was saved under a hook's former name is the hook's."""
    own = place_of(set(), {FIRST: {"former": (False, 4)}})
    joined = join_into_shared(place_of(set(), {}), {OWN[0]: own}, b"", {OWN[0]: "former"})
    assert runs_of(joined, FIRST)[OWN[0]].tries == 4
    named = place_of(set(OFFSETS), {}, write_roster(["former"]))
    assert named.runs(OWN[0], "former")
    assert not named.runs(OWN[0])


def test_metadata_that_says_nothing_knows_nothing() -> None:
    """P5: a commit of a foreign text stands at its offset, and all behind it is open."""
    place = Place.read((7, "foreign"))
    assert place == Place(7, Marks(frontier=7, open=(), states=(), clean=True))
    assert place.runs("a") is None


@given(st.sets(st.text(max_size=20), max_size=128))
def test_a_roster_says_whom_a_group_runs(names: set[str]) -> None:
    """Each name is found again, also none at all."""
    assert read_roster(write_roster(names)) == frozenset(map(hash_of, names))


def test_too_many_hooks_have_no_roster() -> None:
    """A roster leaves room for what else a commit says; without one it is not known whom the group runs."""
    assert read_roster(write_roster([str(number) for number in range(129)])) is None
    assert read_roster(b"\x02abcd") is None
    assert read_roster(b"\x01abc") is None


def test_an_entry_of_nobody_stands_for_the_rest() -> None:
    """The name of no hook is that of all who are not named."""
    assert is_rest_done(write_saved([entry_of("", done=True)]))
    assert not is_rest_done(write_saved([entry_of("ours", done=True)]))
