from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

_PLUGIN = "hookline.testing.pytest_plugin"
_TEST = """
import asyncio
from hookline.testing import events

class Hook:
    name = "mine"
    async def handle(self, event):
        assert event.subject != "bad"

def test_it(hook_stage):
    async def use():
        async with hook_stage({{"*": [Hook()]}}) as stage:
            stage.publish(events.batch_failed("{subject}"))
            await stage.settle()
            assert stage.dead_letters == []
    asyncio.run(use())
"""


@pytest.fixture(name="run")
def _run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(f'pytest_plugins = ["{_PLUGIN}"]')
    return pytester


def test_the_fixture_gives_a_stage(run: pytest.Pytester) -> None:
    """A test that asks for `hook_stage` makes stages with it, without importing anything for it."""
    run.makepyfile(_TEST.format(subject="good"))
    result = run.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


def test_a_failure_tells_what_happened(run: pytest.Pytester) -> None:
    """The report of a test that failed shows what happened on its stages, once."""
    run.makepyfile(_TEST.format(subject="bad"))
    result = run.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    assert sum("hook stage" in line for line in result.outlines) == 1
    assert any("mine begins submitqueue/batch.failed/bad/5" in line for line in result.outlines)
