"""Hooks that are watched, and that fail when the script of a test says so."""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict, deque
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from hookline.hooks import hooks_of

from ._delivery import takes_delivery
from ._seen import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookline.contract import Event
    from hookline.hooks import Hook, HookDelivery, Resolver


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """What happens in the place of a run, or behind it."""

    error: BaseException | None
    """What is raised; None: nothing ever happens."""
    after_effect: bool = False


class Watch:
    """Keeps the attempts of all hooks, and the faults that are to come."""

    def __init__(self, seconds: Callable[[], float], tell: Callable[[str], None]) -> None:
        self.attempts: list[Attempt] = []
        self.at_work = 0
        """How many runs of real hooks go on."""
        self.begins: Callable[[], None] = _nothing
        self._faults: defaultdict[str, deque[ScriptedFault]] = defaultdict(deque)
        self._seconds = seconds
        self._tell = tell

    def script(self, hook: str, fault: ScriptedFault, times: int) -> None:
        """Let the next runs of a hook be faulty."""
        self._faults[hook].extend([fault] * times)

    def next_fault(self, hook: str) -> ScriptedFault | None:
        """Take the fault of the run that begins now."""
        faults = self._faults[hook]
        return faults.popleft() if faults else None

    @contextmanager
    def attempt(self, hook: str, event: Event, *, by_script: bool) -> Iterator[None]:
        """Watch one run."""
        attempt = Attempt(hook, event, self._seconds(), by_script=by_script)
        self.attempts.append(attempt)
        self._tell(f"{hook} begins {event.id}")
        self.at_work += not by_script
        self.begins()
        try:
            yield
        except BaseException as error:
            attempt.error = error
            raise
        finally:
            self.at_work -= not by_script
            attempt.ended_at = self._seconds()
            self._tell(f"{hook} ended {event.id}: {_how(attempt)}")


class WatchedHooks:
    """A resolver whose hooks are watched."""

    def __init__(self, resolver: Resolver, watch: Watch) -> None:
        self._resolver = resolver
        self._watch = watch
        self._watched: dict[int, Hook] = {}

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks that the resolver lists."""
        return tuple(self._watch_one(hook) for hook in hooks_of(self._resolver))

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks of an event."""
        return tuple(self._watch_one(hook) for hook in self._resolver.for_event(event))

    def real(self) -> dict[str, Hook]:
        """Give the listed hooks themselves, by name."""
        return {hook.name: hook for hook in hooks_of(self._resolver)}

    def _watch_one(self, hook: Hook) -> Hook:
        if id(hook) not in self._watched:
            self._watched[id(hook)] = watched(hook, self._watch)
        return self._watched[id(hook)]


def watched(hook: Hook, watch: Watch) -> Hook:
    """Give a hook that does what this one does, and is watched."""
    kinds = _ENTERED_KINDS if isinstance(hook, AbstractAsyncContextManager) else _KINDS
    return cast("Hook", kinds[inspect.iscoroutinefunction(hook.handle), takes_delivery(hook)](hook, watch))


class _Watched:
    """What it is not asked for here is the hook's own: its time limit, its policy."""

    def __init__(self, hook: Hook, watch: Watch) -> None:
        self._hook = hook
        self._watch = watch
        self.name = hook.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hook, name)


class _Coroutine(_Watched):
    async def handle(self, event: Event) -> None:
        await self._run(event, event)

    async def _run(self, event: Event, *arguments: object) -> None:
        fault = self._watch.next_fault(self.name)
        is_called = fault is None or fault.after_effect
        with self._watch.attempt(self.name, event, by_script=not is_called):
            if is_called:
                await cast("Any", self._hook).handle(*arguments)
            if fault is not None:
                await _play(fault)


class _CoroutineWithDelivery(_Coroutine):
    async def handle(self, event: Event, delivery: HookDelivery) -> None:  # type: ignore[override] # as the hook has it
        await self._run(event, event, delivery)


class _Function(_Watched):
    def handle(self, event: Event) -> Any:
        return self._run(event, event)

    def _run(self, event: Event, *arguments: object) -> Any:
        fault = self._watch.next_fault(self.name)
        is_called = fault is None or fault.after_effect
        with self._watch.attempt(self.name, event, by_script=not is_called):
            result = cast("Any", self._hook).handle(*arguments) if is_called else None
            if fault is not None and fault.error is not None:
                raise fault.error
            return result


class _FunctionWithDelivery(_Function):
    def handle(self, event: Event, delivery: HookDelivery) -> Any:  # type: ignore[override] # as the hook has it
        return self._run(event, event, delivery)


class _Entered(_Watched):
    async def __aenter__(self) -> object:
        return await cast("Any", self._hook).__aenter__()

    async def __aexit__(self, *error: object) -> object:
        return await cast("Any", self._hook).__aexit__(*error)


_KINDS: Final[dict[tuple[bool, bool], type[_Watched]]] = {
    (True, False): _Coroutine,
    (True, True): _CoroutineWithDelivery,
    (False, False): _Function,
    (False, True): _FunctionWithDelivery,
}
_ENTERED_KINDS: Final = {key: type(f"{kind.__name__}Entered", (_Entered, kind), {}) for key, kind in _KINDS.items()}


async def _play(fault: ScriptedFault) -> None:
    if fault.error is not None:
        raise fault.error
    await asyncio.get_running_loop().create_future()


def _how(attempt: Attempt) -> str:
    if attempt.error is None:
        return "ok"
    if isinstance(attempt.error, asyncio.CancelledError):
        return "cut off"
    return repr(attempt.error)


def _nothing() -> None:
    """Do nothing."""
