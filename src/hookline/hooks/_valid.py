"""What can be a hook: said when hooks are wired, not at the first event.

TypeError
+-- InvalidHookError      says what stands where a hook should, and what to write instead
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from ._hook import takes_delivery

if TYPE_CHECKING:
    from ._hook import Hook

_HANDLE = "async def handle(self, event)"


class InvalidHookError(TypeError):
    """Something that stands where a hook should is none."""


def rules_of(hooks_by_pattern: object) -> list[tuple[str, tuple[Hook, ...]]]:
    """Return patterns with their hooks, each of which can be one. Raises InvalidHookError."""
    if not isinstance(hooks_by_pattern, Mapping):
        what = _kind(hooks_by_pattern)
        raise InvalidHookError(
            f'Hooks takes type patterns with lists of hooks, not {what}; write Hooks({{"*": [...]}})'
        )
    return [(_pattern(pattern), _hooks(f'"{pattern}"', hooks)) for pattern, hooks in hooks_by_pattern.items()]


def listed_by(resolver: object) -> tuple[Hook, ...]:
    """Return the hooks that a resolver lists in its attribute `hooks`; none when it has none. Raises InvalidHookError."""
    listed = getattr(resolver, "hooks", ())
    return _hooks(f"hooks of {type(resolver).__name__}", listed)


def require_resolver(resolver: object) -> None:
    """Raise InvalidHookError unless events can be resolved with it."""
    if isinstance(resolver, type) or not callable(getattr(resolver, "for_event", None)):
        raise InvalidHookError(f"{_kind(resolver)} is no resolver: it has no for_event(event); put hooks into a Hooks")


def _pattern(pattern: object) -> str:
    if isinstance(pattern, str):
        return pattern
    raise InvalidHookError(f'the type pattern {pattern!r} is {_kind(pattern)}; write a text such as "batch.*"')


def _hooks(where: str, found: object) -> tuple[Hook, ...]:
    if isinstance(found, str | bytes | Mapping | type) or hasattr(found, "handle") or not isinstance(found, Iterable):
        raise InvalidHookError(f"{where}: {_kind(found)} is no list of hooks; {_as_list(found)}")
    return tuple(_hook(where, each) for each in found)


def _hook(where: str, found: object) -> Hook:
    """Return what was found when it can be a hook."""
    if isinstance(found, type):
        kind = found.__name__
        raise InvalidHookError(f"{where}: {kind} is a class, a hook is an object of it; write {kind}()")
    if not callable(getattr(found, "handle", None)):
        raise InvalidHookError(f"{where}: {_kind(found)} has no method handle; {_instead_of_handle(found)}")
    name: object = getattr(found, "name", None)
    if not isinstance(name, str) or not name.strip():
        fault = "has no name" if name is None else f"has {name!r} for a name"
        raise InvalidHookError(f'{where}: {_kind(found)} {fault}; give its class a line such as name = "comment"')
    hook = cast("Hook", found)
    _require_handle(f"{where}: hook {name}", hook)
    return hook


def _require_handle(where: str, hook: Hook) -> None:
    handle = hook.handle
    if inspect.isgeneratorfunction(handle) or inspect.isasyncgenfunction(handle):
        raise InvalidHookError(f"{where}: handle has a yield, so that calling it does nothing; take the yield out")
    try:
        signature = inspect.signature(handle)
    except (TypeError, ValueError):  # a function in C may not tell
        return
    if takes_delivery(hook):
        return
    try:
        signature.bind(None)
    except TypeError:
        what = f"handle{signature} is not called with one event"
        raise InvalidHookError(f"{where}: {what}; write {_HANDLE}") from None


def _kind(found: object) -> str:
    if isinstance(found, type):
        return f"the class {found.__name__}"
    name = type(found).__name__
    return f"an {name}" if name[:1].lower() in "aeio" else f"a {name}"


def _as_list(found: object) -> str:
    if isinstance(found, type):
        return f"write [{found.__name__}()]"
    return "put it into a list" if hasattr(found, "handle") else "give a list, with an object for each hook"


def _instead_of_handle(found: object) -> str:
    near = difflib.get_close_matches("handle", [name for name in dir(found) if not name.startswith("_")], n=1)
    return f"rename {near[0]}" if near else f"write {_HANDLE}"
