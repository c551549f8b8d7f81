"""Group commit: many concurrent callers share one blocking write on one thread."""

from __future__ import annotations

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")
Taken_contra = TypeVar("Taken_contra", contravariant=True)
Result = TypeVar("Result")


class Store(Protocol[Taken_contra]):
    """A place to write to, blocking; every method is called on one thread, one at a time."""

    def open(self) -> None:
        """Get ready to commit; raises when it cannot be."""

    def commit(self, items: Sequence[Taken_contra]) -> Sequence[Exception | None]:
        """Make the items durable, and return for each None or why its effect did not happen.

        When it raises, the effect did not happen for any of them.
        """

    def close(self) -> None:
        """Let go of everything, also after an `open` that failed."""


class BatchWriter(Generic[Item]):
    """Write items to a store in the order they come, all that wait together at once, off the event loop.

    One batch is in flight, never two. For one event loop; used once: start, submit, close.
    """

    def __init__(self, store: Store[Item], *, name: str, max_items: int = 1000) -> None:
        self._store = store
        self._max_items = max_items
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._waiting: list[tuple[Item, asyncio.Future[None]]] = []
        self._flush: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the store; raises what its `open` raises, and leaves nothing open then."""
        try:
            await self._run(self._store.open)
        except BaseException:
            # A cancelled start leaves an `open` running on the thread: the `close` queues up behind it.
            self._thread.submit(self._store.close)
            self._thread.shutdown(wait=False)
            raise

    async def submit(self, item: Item) -> None:
        """Wait until the item's batch is written; raises what kept it from being written.

        A caller that is cancelled stops waiting; its item may be written all the same.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((item, done))
        if self._flush is None or self._flush.done():
            self._flush = loop.create_task(self._write_waiting())
        await done

    async def aclose(self) -> None:
        """Write what waits, close the store and end the thread; the store is closed in the end even when this is cancelled."""
        try:
            if self._flush is not None:
                await asyncio.shield(self._flush)
        finally:
            closing = self._run(self._store.close)
            self._thread.shutdown(wait=False)
            await asyncio.shield(closing)

    def _run(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._max_items], self._waiting[self._max_items :]
            for (_, done), failure in zip(batch, await self._written(batch), strict=True):
                _settle(done, failure)

    async def _written(self, batch: Sequence[tuple[Item, asyncio.Future[None]]]) -> Sequence[Exception | None]:
        items = [item for item, _ in batch]
        try:
            return await self._run(lambda: self._store.commit(items))
        except Exception as error:  # noqa: BLE001 - whatever it is, every waiter is told; nothing is swallowed
            return [error] * len(items)


def _settle(done: asyncio.Future[None], failure: Exception | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
        return
    done.set_exception(_own_copy(failure))


def _own_copy(failure: Exception) -> Exception:
    # One error raised into many tasks would gather all their tracebacks and notes.
    try:
        own = copy.copy(failure).with_traceback(failure.__traceback__)
    except Exception:  # noqa: BLE001 - an error whose constructor wants more than its args cannot be copied
        return failure
    own.__cause__ = failure.__cause__
    return own
