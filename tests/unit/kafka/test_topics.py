from __future__ import annotations

from hookline.kafka import TopicChange, TopicDescription, WantedTopic

_WANTED = WantedTopic("t", 4, config={"retention.ms": "1"})


def test_a_missing_topic_is_created() -> None:
    """What is not found is made, with its settings."""
    change = TopicChange(_WANTED, None, {"retention.ms": (None, "1")})
    assert change.creates
    assert not change.alters
    assert change.keeps_partitions is None


def test_only_differing_settings_are_altered() -> None:
    """A topic that is as wanted is left alone."""
    found = TopicDescription("t", 4, 1)
    assert not TopicChange(_WANTED, found).alters
    assert TopicChange(_WANTED, found, {"retention.ms": ("2", "1")}).alters


def test_another_partition_count_is_told_and_kept() -> None:
    """More partitions would move subjects and break their order, so the count is told, not changed (P3)."""
    change = TopicChange(_WANTED, TopicDescription("t", 12, 1))
    assert change.keeps_partitions == (12, 4)
    assert not change.creates
    assert not change.alters
