"""Standard output belongs to what a command prints, so that `--output json` is one document."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
import structlog
from typer.testing import CliRunner

from hookline.cli._app import app
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "s3cr3t-CANARY-0451"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    every = [root, *(each for each in root.manager.loggerDict.values() if isinstance(each, logging.Logger))]
    handlers, levels = root.handlers[:], {each: each.level for each in every}
    yield
    root.handlers[:] = handlers
    for each in [root, *map(logging.getLogger, root.manager.loggerDict)]:
        each.setLevel(levels.get(each, logging.NOTSET))
    structlog.reset_defaults()


def test_a_one_shot_command_logs_warnings_to_standard_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P15: warnings go to standard error without secrets, what is less goes nowhere, standard output is the document."""
    settings = tmp_path / "hookline.toml"
    settings.write_text('domain = "orders"\n')

    def load(_: object) -> object:
        get_logger("hookline.x").info("said quietly")
        get_logger("hookline.x").warning(f"said aloud, password={CANARY}")
        structlog.get_logger("foreign").warning("said by a library")
        raise OSError("no more is needed")

    monkeypatch.setattr("hookline.cli._config.settings_of", load)
    done = CliRunner().invoke(app, ["config", "show", "--config", str(settings)])
    assert done.stdout == ""
    assert "said aloud" in done.stderr
    assert "said by a library" in done.stderr
    assert "said quietly" not in done.stderr
    assert CANARY not in done.stderr
