"""A double of what hooks call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Call:
    """One call that took effect."""

    name: str
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


class Double:
    """Stands for what a hook calls: each of its methods is `async`, takes any arguments, and is kept in `calls`.

    A call waits once on its way and once on the way back, as one over a network does, so that it can be cut off before
    and after it took effect. `once_by` names a keyword argument by which the other side knows a repeat, as
    `Double(once_by="key")`: of several calls of one method with the same value there only the first takes effect.
    `answers` are what methods return, by name, and exceptions what they raise instead of taking effect; None otherwise.
    With `hangs` no call ever comes back.
    """

    def __init__(
        self, *, once_by: str | None = None, answers: Mapping[str, object] | None = None, hangs: bool = False
    ) -> None:
        self.calls: list[Call] = []
        self._once_by = once_by
        self._answers = dict(answers or {})
        self._hangs = hangs

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, name)

    async def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        if self._hangs:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        answer = self._answers.get(name)
        if isinstance(answer, BaseException):
            raise answer
        if not self._is_repeat(name, named):
            self.calls.append(Call(name, arguments, named))
        await asyncio.sleep(0)
        return answer

    def _is_repeat(self, name: str, named: Mapping[str, Any]) -> bool:
        if self._once_by is None or self._once_by not in named:
            return False
        key = named[self._once_by]
        return any(call.name == name and call.named.get(self._once_by) == key for call in self.calls)
