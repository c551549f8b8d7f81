"""The pytest plug-in: the fixture `hook_stage`. Installed with hookline, or by `pytest_plugins`.

Imports nothing of hookline until a test asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from hookline.testing import HookStage

_STAGES: pytest.StashKey[list[HookStage]] = pytest.StashKey()


@pytest.fixture
def hook_stage(request: pytest.FixtureRequest) -> type[HookStage]:
    """Give `HookStage`; when the test fails, its report tells what happened on the stages that it made."""
    from hookline.testing import HookStage  # noqa: PLC0415 - a test run that does not use it must not pay for it

    made: list[HookStage] = []
    request.node.stash[_STAGES] = made

    class ReportedStage(HookStage):
        """A stage that is told of in the report."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            made.append(self)

    return ReportedStage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what happened on a stage to the report of a test that failed."""
    report = yield
    if report.failed:
        for stage in item.stash.get(_STAGES, []):
            report.sections.append(("hook stage", "\n".join(stage.history)))
    return report
