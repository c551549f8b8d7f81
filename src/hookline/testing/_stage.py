"""A stage to test hooks on: the real one, without a broker, in a time of its own."""

from __future__ import annotations

import inspect
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Self

from hookline.consume import EngineSettings, GiveUp, Hold, Observer, Retry, RetryPolicy
from hookline.contract import DeadLetter, MalformedRecordError, Redrive, decode_record, encode_event
from hookline.contract._redrives import redrive_headers
from hookline.errs import DEFAULT_CLASSIFIERS, Redactor
from hookline.hooks import Hooks, StagePolicy
from hookline.telemetry import Metrics

from ._kafka import Store
from ._life import Life
from ._seen import EventOutcome
from ._time import virtual_time
from ._topic import Log
from ._watched import ScriptedFault, Watch, WatchedHooks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hookline.consume import Delivery, Outcome
    from hookline.contract import Event, Headers
    from hookline.errs import Classifier
    from hookline.hooks import Hook, HookPolicy, Resolver

    from ._seen import Attempt

_DOMAIN: Final = "test"
_DAY_SECONDS: Final = 86_400.0
_DRAIN_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0
_COMMIT_SECONDS: Final = 1.0
"""More than a process has: the time of a day is made of these."""
_MOST_TOLD: Final = 5


class NotSettledError(AssertionError):
    """The time that a test allowed has passed, and some event is neither done nor in the dead-letter topic."""


class HookStage:
    """Runs hooks as `hookline run` does, in memory and in a time that passes only when the test says so.

    Everything but Kafka is the product: decoding, resolving, time limits, verdicts, retries, dead letters, commits and
    what they remember. It runs on the test's own event loop, which is asyncio's, so that hooks may use whatever the test
    has made there. While it is open `asyncio.sleep`, `asyncio.timeout` and all other timers of that loop follow the
    stage's time: `settle` and `advance` let it pass, nothing else does.

    `hooks` is what `Hooks` takes, `{"batch.*": [hook]}`, or a resolver. Not safe across threads.
    """

    def __init__(
        self,
        hooks: Mapping[str, Iterable[Hook]] | Resolver,
        *,
        retry: RetryPolicy | None = None,
        classifiers: Sequence[Classifier] = DEFAULT_CLASSIFIERS,
        policies: Mapping[str, HookPolicy] | None = None,
        engine: EngineSettings | None = None,
        partitions: int = 1,
    ) -> None:
        resolver = hooks if hasattr(hooks, "for_event") else Hooks(hooks)
        self.metrics = Metrics(domain=_DOMAIN)
        """What the stage counts, as `metrics.value("hook_attempts_total", hook="comment", outcome="ok")`."""
        self.history: list[str] = []
        """What happened, a line each, for people."""
        self._watch = Watch(self._seconds, self._tell)
        self._hooks = WatchedHooks(resolver, self._watch)
        self._policy = StagePolicy(retry or RetryPolicy(), classifiers, Redactor(), hooks=policies or {})
        self._settings = engine or EngineSettings(commit_seconds=_COMMIT_SECONDS)
        self._partitions = partitions
        self._told = _Told(self)
        self._open = ExitStack()

    async def __aenter__(self) -> Self:
        """Begin: hooks are entered, the stage waits for events."""
        with self._open:
            self._time = self._open.enter_context(virtual_time())
            await self._begin()
            self._open = self._open.pop_all()
        return self

    async def _begin(self) -> None:
        self._began_at = self._looks_at = self._time.now
        self._store = Store(
            Log(f"{_DOMAIN}-hook", self._partitions), Log(f"{_DOMAIN}-hook_dlq", 1), wall=self._time.wall
        )
        self._watch.begins = self._time.be_patient
        await self._begin_life()
        self._time.followers.append(self)
        self._open.callback(self._time.followers.remove, self)

    async def __aexit__(self, *_: object) -> None:
        """Stop as a process does that is asked to: what runs has 5 s of the stage's time, hooks are left."""
        try:
            await self._life.stop(_DRAIN_SECONDS)
        finally:
            self._open.close()

    # What comes in.

    def publish(self, *events: Event) -> None:
        """Put events on the hook topic, each in the wire format. Raises InvalidEventError for one that may not be published."""
        for event in events:
            self.publish_record(*encode_event(event))

    def publish_record(self, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        """Put any record on the hook topic: foreign CloudEvents, bytes that are no event."""
        record = self._store.append(key, value, headers)
        self._tell(f"published {record}")
        self._life.nudge()

    def redeliver(self, event: Event) -> None:
        """Let all hooks of an event have it once more, though they were done with it.

        As a stage does that could not remember: after a crash, or beyond the window of what it remembers. To publish an
        event twice is something else: the second is dropped as a duplicate.
        """
        again = Redrive(redrives=1, hooks=None, operation=None, again=True, origin=None)
        key, value, headers = encode_event(event)
        self.publish_record(key, value, (*headers, *redrive_headers(again)))

    def republish(self, letter: DeadLetter, *, hooks: Sequence[str] | None = None, again: bool = False) -> None:
        """Put a dead letter back, as `hookline dlq republish` does: for the hooks that failed, or for those named."""
        wanted = hooks if hooks is not None else [failure.hook for failure in letter.failures] or None
        self.publish_record(letter.key, letter.value, letter.republished(hooks=wanted, operation="test", again=again))

    # Time.

    @property
    def now(self) -> float:
        """Seconds since the stage began, in its own time."""
        return self._seconds()

    async def advance(self, seconds: float = 0.0) -> None:
        """Let time pass, and let happen whatever happens in it; with 0 what needs no time."""
        await self._time.let_pass(self._time.now + seconds, lambda: False)
        self._life.check()

    async def settle(self, *, within_seconds: float = _DAY_SECONDS) -> None:
        """Let time pass until every event is done or a dead letter, and that is committed.

        Raises NotSettledError when that takes longer than `within_seconds` of the stage's time.
        """
        is_settled = await self._time.let_pass(self._time.now + within_seconds, self._is_settled)
        self._life.check()
        if not is_settled:
            raise NotSettledError(self._unsettled(within_seconds))

    # What goes wrong.

    def fail(
        self, hook: str, *, times: int = 1, error: BaseException | None = None, after_effect: bool = False
    ) -> None:
        """Let the next runs of a hook raise, a ConnectionError unless another error is given.

        The hook is not called then; with `after_effect` it is, and raises afterwards: its answer was lost.
        """
        self._script(hook, ScriptedFault(error or ConnectionError("by the test's own script"), after_effect), times)

    def hang(self, hook: str, *, times: int = 1, after_effect: bool = False) -> None:
        """Let the next runs of a hook wait for something that never comes, until they are cut off.

        Raises ValueError for a hook that is a plain function: nothing could end its thread.
        """
        if not inspect.iscoroutinefunction(getattr(self._hooks.real().get(hook), "handle", _coroutine)):
            raise ValueError(
                f"{hook} is a plain function, and a thread that hangs cannot be ended; let it fail instead"
            )
        self._script(hook, ScriptedFault(None, after_effect), times)

    @contextmanager
    def dead_letter_outage(self) -> Iterator[None]:
        """Let the dead-letter topic take nothing: what is given up is held, and nothing is committed past it."""
        self._store.letters_are_away = True
        self._tell("the dead-letter topic is away")
        try:
            yield
        finally:
            self._store.letters_are_away = False
            self._tell("the dead-letter topic is back")

    async def revoke(self) -> None:
        """Take all partitions away, as a rebalance does, and give them back: what runs has 5 s, then it is cut off."""
        self._tell("the partitions are taken away")
        await self._life.revoke()
        self._tell("the partitions are back")
        await self.advance()

    async def crash(self) -> None:
        """Let the process go down and another begin: all that is left is what was committed.

        What runs is cut off where it stands. Python cannot end a coroutine without a word, so hooks see a CancelledError,
        and those that are context managers are left and entered again.
        """
        self._tell("the process goes down")
        await self._life.crash()
        await self._begin_life()
        await self.advance()

    # What came of it.

    @property
    def outcomes(self) -> list[EventOutcome]:
        """What was decided after each run of an event, in order, retries included."""
        return list(self._told.outcomes)

    def outcome_of(self, event: Event) -> Outcome | None:
        """Tell what was decided last about an event; None before its first run has ended."""
        told = [each.outcome for each in self._told.outcomes if each.event is not None and _is_same(each.event, event)]
        return told[-1] if told else None

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """What lies in the dead-letter topic."""
        records = self._store.letters.records[0]
        return [DeadLetter.from_record(each.key, each.value, each.headers) for each in records]

    def attempts(self, hook: str | None = None, event: Event | None = None) -> list[Attempt]:
        """List the runs of hooks in order: all, or those of a hook, for an event."""
        return [
            each
            for each in self._watch.attempts
            if hook in {None, each.hook} and (event is None or _is_same(each.event, event))
        ]

    def _script(self, hook: str, fault: ScriptedFault, times: int) -> None:
        known = self._hooks.real()
        if known and hook not in known:
            raise ValueError(f"no hook is named {hook!r}; there are {', '.join(sorted(known))}")
        self._watch.script(hook, fault, times)

    async def _begin_life(self) -> None:
        self._life = Life(
            store=self._store,
            group=self._store.topic.name,
            resolver=self._hooks,
            policy=self._policy,
            settings=self._settings,
            metrics=self.metrics,
            observer=self._told,
            time=self._time,
        )
        await self._life.start()

    def _is_settled(self) -> bool:
        self._life.check()
        return not self._store.uncommitted()

    def _unsettled(self, within_seconds: float) -> str:
        records = self._store.uncommitted()
        named = ", ".join(str(record) for record in records[:_MOST_TOLD])
        lately = "".join(f"\n    {line}" for line in self.history[-3 * _MOST_TOLD :])
        return f"not settled within {within_seconds:g} s: {len(records)} records, from {named} on. Lately:{lately}"

    def _seconds(self) -> float:
        return self._time.now - self._began_at

    def _tell(self, line: str) -> None:
        self.history.append(f"{self._seconds():10.3f} {line}")

    def moved(self) -> None:
        """Let the stage's consumer look again now and then; for the time that it lives in."""
        if self._time.now >= self._looks_at:
            self._looks_at = self._time.now + _LOOK_SECONDS
            self._life.nudge()

    def is_at_work(self) -> bool:
        """Tell whether a hook runs; for the time that it lives in."""
        return self._watch.at_work > 0

    def note_outcome(self, delivery: Delivery, outcome: Outcome) -> EventOutcome:
        """Write down what the engine decided; for the stage's own observer."""
        self._life.nudge()
        self._tell(f"{delivery.record}: {_named(outcome)}")
        record = delivery.record
        try:
            event = decode_record(record.key, record.value, record.headers)
        except MalformedRecordError:
            event = None
        return EventOutcome(event, outcome, self._seconds())


class _Told(Observer):
    """Keeps what the engine tells."""

    def __init__(self, stage: HookStage) -> None:
        self.outcomes: list[EventOutcome] = []
        self._stage = stage

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Keep an outcome."""
        del error
        self.outcomes.append(self._stage.note_outcome(delivery, outcome))


def _named(outcome: Outcome) -> str:
    match outcome:
        case GiveUp(letter_class, code):
            return f"dead letter, {letter_class}, {code}"
        case Retry(delay_seconds) | Hold(delay_seconds):
            return f"{type(outcome).__name__.lower()} in {delay_seconds:.3f} s"
        case _:
            return type(outcome).__name__.lower()


def _is_same(one: Event, other: Event) -> bool:
    return one.identity == other.identity


async def _coroutine() -> None:
    """Stand for the hook of a resolver that lists none."""
