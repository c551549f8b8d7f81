"""The alert rules, judged by Prometheus' own tool."""

import shutil
import subprocess
from pathlib import Path

from tests.support.missing import missing

RULES = Path(__file__).parents[2] / "deploy" / "prometheus"


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = shutil.which("promtool")
    if command is None:
        missing("promtool is not installed (Debian: apt-get install prometheus)")
    return subprocess.run([command, *arguments], cwd=RULES, capture_output=True, text=True, check=False)


def test_the_rules_are_valid() -> None:
    """Prometheus accepts every rule, and finds no rule twice."""
    result = promtool("check", "rules", "--lint-fatal", "hookline.rules.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_rules_fire_when_they_should() -> None:
    """Every alert fires, stays silent and ends as its unit tests say; a dead letter pages each time (P12)."""
    result = promtool("test", "rules", "hookline.test.yml")
    assert result.returncode == 0, result.stdout + result.stderr
