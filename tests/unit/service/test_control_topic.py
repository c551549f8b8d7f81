"""The name of the control topic: one for all domains, another one, or none."""

from __future__ import annotations

import pytest

from hookline.service import Gatekeeper, Settings, SettingsError, load_settings

KAFKA = {"common": {"bootstrap.servers": "kafka:9092"}}


def settings_of(**topics: str) -> Settings:
    """Make the settings of a domain with such topics."""
    return Settings.model_validate({"domain": "orders", "topics": topics, "kafka": KAFKA})


def test_one_topic_for_all_domains() -> None:
    """Unless it is said otherwise all domains share one topic, so that what is closed is seen at one place."""
    assert settings_of().control_topic() == "hookline-control"


def test_it_may_be_named() -> None:
    """A platform with rules for names gives it another one."""
    assert settings_of(control="orders.control").control_topic() == "orders.control"


@pytest.mark.parametrize("variables", [{}, {"HOOKLINE_TOPICS__CONTROL": ""}], ids=["file", "environment"])
def test_an_empty_name_switches_it_off(variables: dict[str, str]) -> None:
    """Without a control topic nobody can close anything, and whoever tries is told which setting says so."""
    settings = load_settings(None, {"HOOKLINE_DOMAIN": "orders"} | variables) if variables else settings_of(control="")
    assert settings.control_topic() is None
    with pytest.raises(SettingsError) as caught:
        Gatekeeper(settings)
    assert "topics.control" in str(caught.value)


@pytest.mark.parametrize("name", ["orders-hook", "orders-hook_dlq", "orders.hook_dlq"])
def test_it_is_no_topic_of_events(name: str) -> None:
    """Compaction would lose events and dead letters, so their topics are refused, also under a name that Kafka takes for theirs."""
    topics = {"dead_letters": "orders_hook_dlq"} if name == "orders.hook_dlq" else {}
    with pytest.raises(ValueError, match=name):
        settings_of(control=name, **topics)


def test_a_name_that_kafka_refuses_is_refused() -> None:
    """It is a name as those of the other topics are."""
    with pytest.raises(ValueError, match="control"):
        settings_of(control="a b")
