"""Finds the hook that a thread is at, from outside and without the hook's calls paying for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._stage import Stage
from ._wiring import WiredHook

if TYPE_CHECKING:
    from types import CodeType, FrameType

_CALLS: Final[frozenset[CodeType]] = frozenset(
    {Stage.call_only.__code__, Stage.call_hook.__code__, Stage.finish_call.__code__}
)
"""All code of a hook runs beneath one of these; each has the hook in its variable `hook`."""


def hook_in(frame: FrameType | None) -> str | None:
    """Name the hook whose code runs in this frame or beneath it; None when it is no hook's.

    For a frame of another thread, from `sys._current_frames()`. A task that a hook started by itself is nobody's.
    """
    while frame is not None:
        if frame.f_code in _CALLS:
            hook = frame.f_locals.get("hook")
            return hook.name if isinstance(hook, WiredHook) else None
        frame = frame.f_back
    return None
