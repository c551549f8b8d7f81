"""Which dead letters a filter chooses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import DeadLetterClass, Origin
from hookline.deadletters import Filter, StoredLetter
from hookline.deadletters._browse import oldest_first
from tests.unit.deadletters.making import HOOK_TOPIC, NOW_MS, bare_record, event, letter, record_of, stored

TYPES = ("batch.failed", "batch.succeeded", "request.landed")
HOOKS = ("ci", "chat", "warehouse")


def letters() -> list[StoredLetter]:
    return [
        stored(letter(event(f"s-{n}", type=TYPES[n % 3]), hooks=HOOKS[: n % 4], source=Origin(HOOK_TOPIC, 0, n)), n)
        for n in range(24)
    ]


def test_an_empty_filter_chooses_all_also_what_is_no_event() -> None:
    """Nothing is hidden by default: an undecodable record and one without our headers are listed too."""
    foreign = StoredLetter.read(bare_record(None, None))
    assert all(Filter().matches(each) for each in [*letters(), foreign])


@given(st.sets(st.sampled_from(HOOKS)), st.sets(st.sampled_from(TYPES)))
def test_every_part_of_a_filter_must_agree(hooks: set[str], types: set[str]) -> None:
    """A filter chooses what each of its parts alone would choose, and no more."""
    both = Filter(hooks=tuple(hooks), types=tuple(types))
    for each in letters():
        assert both.matches(each) == (Filter(hooks=both.hooks).matches(each) and Filter(types=both.types).matches(each))


def test_one_of_the_failed_hooks_is_enough() -> None:
    """A letter that failed in two hooks is found by either."""
    each = stored(letter(hooks=("ci", "chat")))
    assert Filter(hooks=("chat",)).matches(each)
    assert not Filter(hooks=("warehouse",)).matches(each)


def test_source_class_and_id_are_exact() -> None:
    """Sources, classes and ids are compared as they are."""
    each = stored(letter(), offset=3, partition=2)
    assert Filter(sources=("shop",), classes=(DeadLetterClass.PERMANENT,), ids=("2/3",)).matches(each)
    assert not Filter(sources=("shop*",)).matches(each)
    assert not Filter(classes=(DeadLetterClass.MALFORMED,)).matches(each)
    assert not Filter(ids=("3/2",)).matches(each)


def test_since_is_included_and_until_is_not() -> None:
    """Two adjacent spans choose a letter once."""
    each = stored()
    assert Filter(since_ms=NOW_MS, until_ms=NOW_MS + 1).matches(each)
    assert not Filter(until_ms=NOW_MS).matches(each)
    assert not Filter(since_ms=NOW_MS + 1).matches(each)


def test_one_pattern_of_types_is_enough() -> None:
    """Types are chosen by the patterns that hooks have, any of several."""
    each = stored(letter(event(type="batch.failed")))
    assert Filter(types=("request.*", "batch.*")).matches(each)
    assert not Filter(types=("batch",)).matches(each)


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 9)), max_size=30))
def test_the_order_of_a_partition_is_kept_whatever_its_clocks_say(places: list[tuple[int, int | None]]) -> None:
    """P3: merging partitions by time never turns two letters of one partition around."""
    made = [
        StoredLetter.read(record_of(letter(), offset, partition=partition, timestamp_ms=time))
        for offset, (partition, time) in enumerate(places)
    ]
    merged = oldest_first(reversed(made))
    assert sorted(each.record.offset for each in merged) == list(range(len(places)))
    for partition in range(3):
        offsets = [each.record.offset for each in merged if each.record.partition == partition]
        assert offsets == sorted(offsets)
