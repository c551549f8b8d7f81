from __future__ import annotations

from collections import Counter

from benchmarks.events import hottest, make_events, one_event, uniform_subjects, zipf_subjects
from benchmarks.faults import plan_faults
from hookline.contract import decode_record, encode_event


def test_zipf_keys_are_the_same_in_every_run() -> None:
    """The seed is fixed: the hottest subject of B2 and its first keys never change."""
    subjects = zipf_subjects(10_000, 1_000)
    assert subjects[:8] == zipf_subjects(8, 1_000)
    assert subjects[:8] == [166, 43, 0, 401, 907, 0, 80, 137]
    assert hottest(subjects) == 1_344


def test_zipf_keys_are_as_skewed_as_the_law_says() -> None:
    """Subject k comes about 1 / (k + 1) as often as subject 0."""
    counts = Counter(zipf_subjects(100_000, 1_000))
    assert 1.8 < counts[0] / counts[1] < 2.2
    assert 8 < counts[0] / counts[9] < 12


def test_uniform_keys_are_even() -> None:
    """Every subject has as many events as any other."""
    assert set(Counter(uniform_subjects(20_000, 100)).values()) == {200}


def test_a_made_event_is_what_the_publisher_writes() -> None:
    """The fast way to many records gives the bytes of `encode_event`, versions counted by subject, about 220 of them."""
    made = list(make_events([7, 3, 7]))
    assert [(each.subject, each.version) for each in made] == [
        ("batch-000007", 1),
        ("batch-000003", 1),
        ("batch-000007", 2),
    ]
    for each in made:
        record = encode_event(one_event(each.subject, each.version))
        assert (each.key, each.value, each.headers) == record
        assert decode_record(*record).subject == each.subject
        assert 200 <= len(each.value) <= 240


def test_failures_are_spread_and_always_the_same() -> None:
    """About one event in a hundred fails twice, on many subjects; the one that fails for ever is none of them."""
    subjects = zipf_subjects(24_400, 1_000)
    faults = plan_faults(subjects)
    assert faults == plan_faults(subjects)
    assert 200 < len(faults.twice) < 290
    failing = {subject for subject, _ in faults.twice}
    assert len(failing) > 80
    assert faults.for_ever not in failing
    assert not faults.spared & (failing | {faults.for_ever})
    assert len(faults.spared) + len(failing) + 1 == len(set(subjects))
