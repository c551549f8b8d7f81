"""For people who write hooks: a stage without a broker, faults by script, checks of hooks, events to test with.

Stands beside the stair and looks into every room up to floor 5; nothing of the product imports it. docs/testing.md is the
same in words. What is named here is imported when it is first asked for: the pytest plug-in lives in this package, and
must cost nothing in a test run that does not use it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.testing import events
    from hookline.testing._bounds import assert_bounds_its_work
    from hookline.testing._catalogue import EventType, FieldKind
    from hookline.testing._double import Call, Double
    from hookline.testing._factory import EventFactory
    from hookline.testing._idempotent import assert_idempotent
    from hookline.testing._lint import Finding, assert_catalogue, lint_catalogue, lint_event
    from hookline.testing._seen import Attempt, EventOutcome
    from hookline.testing._stage import HookStage, NotSettledError

_HOMES = {
    "Attempt": "_seen",
    "Call": "_double",
    "Double": "_double",
    "EventFactory": "_factory",
    "EventOutcome": "_seen",
    "EventType": "_catalogue",
    "FieldKind": "_catalogue",
    "Finding": "_lint",
    "HookStage": "_stage",
    "NotSettledError": "_stage",
    "assert_bounds_its_work": "_bounds",
    "assert_catalogue": "_lint",
    "assert_idempotent": "_idempotent",
    "lint_catalogue": "_lint",
    "lint_event": "_lint",
}

__all__ = [
    "Attempt",
    "Call",
    "Double",
    "EventFactory",
    "EventOutcome",
    "EventType",
    "FieldKind",
    "Finding",
    "HookStage",
    "NotSettledError",
    "assert_bounds_its_work",
    "assert_catalogue",
    "assert_idempotent",
    "events",
    "lint_catalogue",
    "lint_event",
]


def __getattr__(name: str) -> object:
    if name == "events":
        return import_module(f"{__name__}.events")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
