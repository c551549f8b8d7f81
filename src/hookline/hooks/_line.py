"""Events that wait for a hook, in the order in which they came."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from hookline.consume import Delivery

    from ._runs import HookRun


class Line:
    """The runs of one hook that wait until they may begin. One that waits holds nothing.

    Weak: nobody tells of an event whose partition was let go while it waited.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[tuple[ref[HookRun], ref[Delivery]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, run: HookRun, delivery: Delivery) -> None:
        """Let a run wait. One that waits already keeps its place, and one that was called in vain is the first again."""
        if run.in_line:
            return
        add = self._waiting.appendleft if run.was_called else self._waiting.append
        add((ref(run), ref(delivery)))
        run.in_line, run.was_called = True, False

    def call(self) -> bool:
        """Let the first that still waits ask again; tells whether there was one."""
        while self._waiting:
            run_of, delivery_of = self._waiting.popleft()
            run, delivery = run_of(), delivery_of()
            if run is not None and delivery is not None and run.in_line:
                run.in_line, run.was_called = False, True
                run.due_at = 0.0
                delivery.wake()
                return True
        return False

    def count(self) -> int:
        """Tell how many wait, and forget those that are gone."""
        self._waiting = deque(pair for pair in self._waiting if _waits(*pair))
        return len(self._waiting)

    def call_all(self) -> None:
        """Let all that wait now ask again."""
        for _ in range(len(self._waiting)):
            if not self.call():
                return


def _waits(run_of: ref[HookRun], delivery_of: ref[Delivery]) -> bool:
    run = run_of()
    return run is not None and run.in_line and delivery_of() is not None
