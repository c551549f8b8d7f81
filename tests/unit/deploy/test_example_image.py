"""The hook package that the example adds to the image."""

import tomllib

import pytest

from examples.image.announce_hooks import AnnounceFailure, hooks
from hookline import Event
from tests.unit.deploy._manifests import ROOT

FAILED = Event.versioned(
    source="submitqueue",
    type="batch.failed",
    subject="batch-778",
    version=4,
    payload={"batch_id": "batch-778", "error": "merge conflict"},
)


async def test_the_example_hook_does_its_work(capsys: pytest.CaptureFixture[str]) -> None:
    """The hooks of the example resolve for the event they want, and the hook does what its docstring says."""
    [hook] = hooks.for_event(FAILED)
    assert isinstance(hook, AnnounceFailure)
    await hook.handle(FAILED)
    assert capsys.readouterr().out == "batch-778 failed: merge conflict\n"


async def test_the_example_hook_raises_when_it_cannot() -> None:
    """An event without the payload it needs makes the hook raise, as every hook whose effect did not happen must."""
    bare = Event.versioned(source="submitqueue", type="batch.failed", subject="batch-778", version=5)
    [hook] = hooks.for_event(bare)
    assert isinstance(hook, AnnounceFailure)
    with pytest.raises(KeyError):
        await hook.handle(bare)


def test_the_package_ships_the_module_that_the_settings_name() -> None:
    """The module in the wheel is the one that `app` imports."""
    folder = ROOT / "examples" / "image"
    built = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    module, _, attribute = tomllib.loads((folder / "hookline.toml").read_text())["app"].partition(":")
    assert built["only-include"] == [f"{module}.py"]
    assert attribute == "hooks"
