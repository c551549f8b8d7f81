"""Has groups moved and placed before anything is read, however long Kafka is away."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from hookline.kafka import GroupAdmin, GroupInUseError, KafkaClientError
from hookline.service._health import Check
from hookline.service._problems import Problem, SettingsError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.kafka import ClientConfig
    from hookline.service._takeover import TakeOver

_ANSWER_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 1.0
_REPEAT_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 60.0

_log = get_logger(__name__)


class GroupKeeper:
    """Carries out a `TakeOver`, again and again until it is done. For one event loop.

    It asks on a thread of its own: hooks that hang in asyncio's pool must not keep it from asking. A group that has
    members is looked at again for `patience_seconds`: it may be a replica that stops, or one that does the same.
    """

    def __init__(
        self,
        client: ClientConfig,
        take_over: TakeOver,
        *,
        patience_seconds: float = _PATIENCE_SECONDS,
        connect: Callable[[ClientConfig, float], GroupAdmin] = GroupAdmin,
    ) -> None:
        self._client = client
        self._take_over = take_over
        self._patience_seconds = patience_seconds
        self._connect = connect
        self._thread = ThreadPoolExecutor(1, "kafka-groups")
        self._reason = "not looked at yet"
        self._said: tuple[str, float] = ("", 0.0)

    def check(self) -> Check:
        """Tell whether the groups stand where they should, and what keeps them."""
        return Check("groups", self._reason)

    async def settle(self) -> None:
        """Return when every group stands where it should.

        Waits for Kafka as long as it takes. Raises SettingsError for a new group without a start, and for one that has
        members when its time is over. May be cancelled.
        """
        loop = asyncio.get_running_loop()
        give_up: float | None = None
        try:
            while True:
                try:
                    await loop.run_in_executor(self._thread, self._run)
                    break
                except GroupInUseError as error:
                    give_up = give_up or loop.time() + self._patience_seconds
                    if loop.time() >= give_up:
                        raise _in_use(error.group) from error
                    self._note(f"{error}: waiting until they have left")
                except KafkaClientError as error:
                    give_up = None
                    self._note(str(error))
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)
        self._reason = ""

    def _run(self) -> None:
        with self._connect(self._client, _ANSWER_SECONDS) as admin:
            self._take_over.run(admin)

    def _note(self, reason: str) -> None:
        self._reason = reason
        now = asyncio.get_running_loop().time()
        said, at = self._said
        if reason != said or now - at > _REPEAT_SECONDS:
            self._said = (reason, now)
            _log.warning("groups cannot be looked at or moved yet, trying on", reason=reason)


def _in_use(group: str) -> SettingsError:
    what = f"what group {group} has committed must move, but it has members, which run with other settings"
    return SettingsError([Problem(what, "isolation", "stop all other replicas of the domain, then start this one")])
