"""The alert rules against the rest of the project: metrics that exist, sections of the runbook that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookline.telemetry import Metrics

ROOT = Path(__file__).parents[3]
PROMETHEUS = ROOT / "deploy" / "prometheus"


def alerts() -> list[dict[str, Any]]:
    document = yaml.safe_load((PROMETHEUS / "hookline.rules.yml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def metric_names(text: str) -> set[str]:
    return set(re.findall(r"\bhookline_[a-z_]+", text))


def exposed_names() -> set[str]:
    body, _content_type = Metrics(domain="orders").render()
    samples = re.findall(r"^# TYPE (\S+)", body.decode(), flags=re.MULTILINE)
    return set(samples)


def headings(path: Path) -> set[str]:
    return {line.lstrip("#").strip().lower() for line in path.read_text().splitlines() if line.startswith("#")}


def test_every_metric_of_the_rules_is_exposed() -> None:
    """A rule, or a test of one, that names a metric which does not exist would stay silent for ever."""
    named = {name for alert in alerts() for name in metric_names(alert["expr"])}
    named |= metric_names((PROMETHEUS / "hookline.test.yml").read_text())
    assert named
    assert named <= exposed_names()


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_says_what_to_do(alert: dict[str, Any]) -> None:
    """Every alert has a severity, a summary, a description, and a section of its own in the runbook."""
    assert alert["alert"].startswith("Hookline")
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert {"summary", "description", "runbook_url"} <= alert["annotations"].keys()
    page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert anchor == alert["alert"].lower()
    assert anchor in headings(ROOT / page)


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_has_a_unit_test(alert: dict[str, Any]) -> None:
    """Every alert is seen to fire, and seen to stay silent, by promtool's tests."""
    document = yaml.safe_load((PROMETHEUS / "hookline.test.yml").read_text())
    cases = [case for test in document["tests"] for case in test.get("alert_rule_test", [])]
    expected = [bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert["alert"]]
    assert set(expected) == {True, False}


def test_the_expiry_alert_knows_the_retention() -> None:
    """The page before events expire comes at half of the retention that `deploy/topics.toml` gives the hook topic."""
    text = (ROOT / "deploy" / "topics.toml").read_text().replace("_", "")
    [retention_ms, *_dead_letters] = map(int, re.findall(r'"retention\.ms" = (\d+)', text))
    [alert] = [item for item in alerts() if item["alert"] == "HooklineEventsNearExpiry"]
    assert alert["expr"].endswith(f"> {retention_ms // 2000}")
