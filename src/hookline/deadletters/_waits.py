"""Pages about hooks whose events wait for something that may need a person."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from hookline.deadletters._clock import Clock
from hookline.deadletters._errors import PageNotAcceptedError
from hookline.deadletters._text import one_line, rfc3339
from hookline.hooks import HookTrouble, TroubleKind
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookline.contract import JsonValue
    from hookline.deadletters._pagers import Pager
    from hookline.telemetry import Metrics

_LOOK_SECONDS: Final = 2.0
_REPEAT_SECONDS: Final = 60.0
_OVER_SECONDS: Final = 60.0
_OTHERS_SECONDS: Final = 10.0
"""How long whoever closed a hook has to tell of it, before another process does."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WaitingPage:
    """One page about one hook whose events wait. Every text is one bounded line that has passed the redactor.

    ``incident`` is the same in every process for one hook and cause. Times are milliseconds since 1970.
    """

    incident: str
    domain: str
    hook: str
    cause: str
    reason: str
    waiting: int
    opened_at_ms: int
    paged_at_ms: int
    command: str

    @property
    def summary(self) -> str:
        """Say it in one line."""
        minutes = max(self.paged_at_ms - self.opened_at_ms, 0) // 60_000
        return f"{self.domain}: events of hook {self.hook} wait, for {minutes} min: {self.reason}"

    @property
    def occasion(self) -> tuple[str, ...]:
        """What tells this page from every other one, the same when it is sent again."""
        return self.incident, str(self.opened_at_ms)

    def labels(self) -> dict[str, str]:
        """Return what stays the same while it lasts."""
        return {"alertname": "HooklineHookWaits", "domain": self.domain, "hook": self.hook, "cause": self.cause}

    def annotations(self) -> dict[str, str | None]:
        """Return what changes while it lasts."""
        return {
            "summary": self.summary,
            "command": self.command,
            "reason": self.reason,
            "waiting": str(self.waiting),
            "since": rfc3339(self.opened_at_ms),
        }

    def document(self) -> dict[str, JsonValue]:
        """Return the page as JSON, times as RFC 3339."""
        return {
            "kind": "hookline.hook_waits",
            "summary": self.summary,
            "incident": self.incident,
            "domain": self.domain,
            "hook": self.hook,
            "cause": self.cause,
            "reason": self.reason,
            "waiting": self.waiting,
            "opened_at": rfc3339(self.opened_at_ms),
            "paged_at": rfc3339(self.paged_at_ms),
            "command": self.command,
        }


class PageMemory(Protocol):
    """What every process of a domain knows of the pages about held hooks, also after a restart."""

    def is_told(self, hook: str, pager: str, closed_at_ms: int) -> bool:
        """Tell whether a pager has accepted a page about this closing of the hook's gate."""
        ...

    def tell(self, hook: str, pager: str, closed_at_ms: int) -> None:
        """Note that it has. Does not block and does not raise."""
        ...


@dataclass(slots=True)
class _Wait:
    """A cause that lasts, who has been told of it, and when (monotonic seconds)."""

    opened_at_ms: int
    seen_at: float
    told: dict[str, float] = field(default_factory=dict)


class WaitingPager:
    """Tells every pager of each hook whose events wait, once while it lasts. Belongs to one event loop.

    A hook that is held until a person releases it is told at once, a dependency that is away once it has been for
    ``page_after_seconds``. What has not been seen for a minute is over, and news when it comes again. A pager that forgets is
    told again while it lasts, and one that does not accept a page is asked again. With a ``memory`` a hook that is held is told
    by one process, and not again after a restart; when that process does not come to it, another one does.
    """

    def __init__(
        self,
        pagers: Sequence[Pager],
        *,
        domain: str,
        metrics: Metrics,
        redact: Callable[[str], str],
        page_after_seconds: float,
        memory: PageMemory | None = None,
        config_path: str = "hookline.toml",
        clock: Clock | None = None,
    ) -> None:
        self._pagers = pagers
        self._memory = memory
        self._domain = domain
        self._metrics = metrics
        self._redact = redact
        self._page_after_seconds = page_after_seconds
        self._config_path = config_path
        self._clock = clock or Clock()
        self._waits: dict[tuple[str, str], _Wait] = {}

    async def run(self, troubles: Callable[[], Iterable[HookTrouble]]) -> None:
        """Look and tell until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look(troubles())

    async def look(self, troubles: Iterable[HookTrouble]) -> None:
        """Tell of what lasts long enough. Never raises for a pager."""
        now = self._clock.monotonic()
        for trouble in troubles:
            wait = self._wait_of(trouble, now)
            if trouble.seconds >= self._patience_seconds(trouble):
                await self._tell(trouble, wait, now)
        self._waits = {key: wait for key, wait in self._waits.items() if now <= wait.seen_at + _OVER_SECONDS}

    def _patience_seconds(self, trouble: HookTrouble) -> float:
        if not _is_held(trouble):
            return self._page_after_seconds
        return 0.0 if trouble.is_own or not trouble.closed_at_ms else _OTHERS_SECONDS

    def _wait_of(self, trouble: HookTrouble, now: float) -> _Wait:
        key = trouble.hook, _cause(trouble)
        wait = self._waits.get(key)
        if wait is None:
            opened_at_ms = trouble.closed_at_ms or int((self._clock.wall() - trouble.seconds) * 1000)
            wait = self._waits[key] = _Wait(opened_at_ms, now)
        wait.seen_at = now
        return wait

    async def _tell(self, trouble: HookTrouble, wait: _Wait, now: float) -> None:
        due = [pager for pager in self._pagers if _is_due(pager, wait, now) and not self._is_told(trouble, pager)]
        if not due:
            return
        page = self._page(trouble, wait)
        results = await asyncio.gather(*(pager.page(page) for pager in due), return_exceptions=True)
        for pager, error in zip(due, results, strict=True):
            self._metrics.pages_total.inc(pager=pager.name, result="ok" if error is None else "error")
            if error is None:
                wait.told[pager.name] = now
                if self._memory is not None and trouble.closed_at_ms:
                    self._memory.tell(trouble.hook, pager.name, trouble.closed_at_ms)
            else:
                text = str(error) if isinstance(error, PageNotAcceptedError) else type(error).__name__
                _log.warning("page not accepted", pager=pager.name, incident=page.incident, error=text)

    def _is_told(self, trouble: HookTrouble, pager: Pager) -> bool:
        """Tell whether a pager that does not forget knows of a closed gate, whoever told it."""
        if self._memory is None or not trouble.closed_at_ms or pager.keep_seconds > 0:
            return False
        return self._memory.is_told(trouble.hook, pager.name, trouble.closed_at_ms)

    def _page(self, trouble: HookTrouble, wait: _Wait) -> WaitingPage:
        cause = _cause(trouble)
        parts = (self._domain, trouble.hook, cause)
        joined = "".join(f"{len(part)}:{part}" for part in parts)
        return WaitingPage(
            incident=hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            domain=self._domain,
            hook=self._safe(trouble.hook),
            cause=cause,
            reason=self._safe(trouble.reason),
            waiting=trouble.waiting,
            opened_at_ms=wait.opened_at_ms,
            paged_at_ms=int(self._clock.wall() * 1000),
            command=self._command(trouble),
        )

    def _command(self, trouble: HookTrouble) -> str:
        verb = ["open", "--hook", self._safe(trouble.hook)] if _is_held(trouble) else ["list"]
        return shlex.join(["hookline", "gate", *verb, "--config", self._config_path])

    def _safe(self, text: str) -> str:
        return one_line(self._redact(text))


def _is_held(trouble: HookTrouble) -> bool:
    return trouble.kind is TroubleKind.HELD


def _cause(trouble: HookTrouble) -> str:
    """Name the cause: a breaker that opens is no news beside the failures that opened it."""
    return "held" if _is_held(trouble) else "dependency"


def _is_due(pager: Pager, wait: _Wait, now: float) -> bool:
    told_at = wait.told.get(pager.name)
    return told_at is None or (pager.keep_seconds > 0 and now >= told_at + _REPEAT_SECONDS)
