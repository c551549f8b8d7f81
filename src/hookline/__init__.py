"""Durable hook events on Kafka: one CloudEvents envelope, many integrations, nothing lost.

What users import is here; settings are in `hookline.service`, verdicts and wraps of errors in `hookline.errs`, what tests
of hooks need in `hookline.testing`. A name is imported when it is first asked for: pytest loads the plug-in of the kit in
every run, and most runs want nothing of this.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.contract import Event
    from hookline.hooks import Hook, HookDelivery, HookPolicy, Hooks, is_superseded
    from hookline.publish import HookPublisher, SyncHookPublisher

_ROOMS = {
    "Event": "contract",
    "Hook": "hooks",
    "HookDelivery": "hooks",
    "HookPolicy": "hooks",
    "HookPublisher": "publish",
    "Hooks": "hooks",
    "SyncHookPublisher": "publish",
    "is_superseded": "hooks",
}

__all__ = [
    "Event",
    "Hook",
    "HookDelivery",
    "HookPolicy",
    "HookPublisher",
    "Hooks",
    "SyncHookPublisher",
    "is_superseded",
]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    found: object = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    globals()[name] = found
    return found
