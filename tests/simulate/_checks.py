"""The promises, checked at every step of a history."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hookline.consume import Order
from hookline.contract import DeadLetterClass
from tests.simulate._ledger import Durable, Epoch, Run, Sent, ViolationError
from tests.simulate._setup import RETRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookline.consume import Outcome
    from tests.simulate._clock import Clock
    from tests.simulate._setup import Setup

_FOR_GOOD = 1_000
_RUNS_TO_BE_FOUND = 5


class Checks:
    """Keeps the ledger and raises, or remembers, the first violation."""

    def __init__(self, setup: Setup, clock: Clock, trace: Callable[[str], None]) -> None:
        self._setup = setup
        self._clock = clock
        self.trace = trace
        self.violation: ViolationError | None = None
        self.sent: dict[int, dict[int, Sent]] = {number: {} for number in range(setup.partitions)}
        self.of_identity: defaultdict[tuple[int, tuple[str, str]], list[Sent]] = defaultdict(list)
        self.durable: dict[int, Durable] = {number: Durable() for number in range(setup.partitions)}
        self.epochs: dict[tuple[str, int], Epoch] = {}
        self.fetches: list[tuple[Sent, Epoch]] = []

    def violate(self, promise: str, text: str) -> None:
        """Note that a promise is broken; the first counts."""
        if self.violation is None:
            self.violation = ViolationError(f"{promise}: {text}")
            self.trace(f"VIOLATION {self.violation}")

    def require(self, holds: object, promise: str, text: str) -> None:
        """Note a violation unless something holds."""
        if not holds:
            self.violate(promise, text)

    # Records.

    def published(self, sent: Sent) -> None:
        """Note a record on the topic."""
        self.sent[sent.partition][sent.offset] = sent
        self.of_identity[sent.partition, sent.identity].append(sent)
        scripts = {name: (script.first, script.rest) for name, script in sent.scripts.items()}
        self.trace(f"published {sent} key={sent.key!r} id={sent.identity[1]} again={sent.again} {scripts}")

    def is_duplicate(self, sent: Sent) -> bool:
        """Tell whether its identity has completed, if it has repeats: each of them may be read back for the one that ran."""
        repeats = self.of_identity[sent.partition, sent.identity]
        return not sent.again and len(repeats) > 1 and any(each.is_complete for each in repeats)

    def is_settled(self, sent: Sent) -> bool:
        """Tell whether somebody has seen to a record: all hooks, or the dead-letter topic."""
        return sent.is_complete or bool(sent.letters) or self.is_duplicate(sent)

    # Epochs.

    def opened(self, process: str, number: int) -> Epoch:
        """Note that a process is told of a partition."""
        for (_, other), epoch in self.epochs.items():
            if other == number:  # its owner does not know yet that it has lost it
                for sent in epoch.may_be_charged():
                    sent.blame += 1
        epoch = Epoch(process, number, self._clock.tick(), self.durable[number])
        self.epochs[process, number] = epoch
        self.trace(f"{process} is told of {number} at {epoch.found.position}")
        return epoch

    def forgot(self, process: str, number: int, *, recalls: bool) -> None:
        """Note that a process could not read what the owner before left, and whether it knows where to read back."""
        epoch = self.epochs[process, number]
        epoch.recall_is_sound = epoch.recall_is_sound and recalls
        epoch.found = Durable(epoch.found.position, epoch.found.surely.of_settled(epoch.found.position))

    def closed(self, process: str, number: int, *, killed: bool = False) -> None:
        """Note that a process has been told the end of its epoch, or is no more.

        Whoever ran may be charged with that. When nobody did, or what took the process down ran elsewhere, so may be
        who was to run next, and who has ended since the last commit.
        """
        epoch = self.epochs.pop((process, number))
        epoch.is_closed = True
        self.trace(f"{process} is told the end of {number}, in order: {epoch.is_sealed}")
        if epoch.is_sealed:
            return
        running = {run.sent for run in epoch.running}
        by_killer = killed and any(sent.kills for sent in running)
        for sent in running if by_killer else running | epoch.may_be_charged():
            sent.blame += 1

    def fetched(self, process: str, number: int, offset: int) -> int:
        """Note a delivery, and give it a number."""
        epoch, sent = self.epochs[process, number], self.sent[number][offset]
        epoch.delivered[offset] = sent
        self.fetches.append((sent, epoch))
        return len(self.fetches) - 1

    # Attempts.

    def began(self, fetch: int) -> None:
        """Check that an attempt may begin."""
        sent, epoch = self.fetches[fetch]
        self.trace(f"{epoch.process} begins {sent}")
        if sent.again:
            return
        begun = epoch.begun.setdefault(sent.identity, sent.offset)
        self.require(begun == sent.offset, "P4", f"{sent} begins while {begun} of its identity is not settled")
        is_repeat = any(each.identity == sent.identity and each.makes_repeat(sent) for each in epoch.completed)
        self.require(not is_repeat, "P4", f"{sent} runs, but its identity has completed")
        self._check_recalled(sent, epoch)

    def _check_recalled(self, sent: Sent, epoch: Epoch) -> None:
        if not (self._setup.remembers_all and epoch.recall_is_sound):
            return
        known = epoch.found.surely.ok
        for each in self.of_identity[sent.partition, sent.identity]:
            is_known = all((each.offset, hook) in known for hook in each.scripts)
            if each is not sent and is_known and not each.letters and not each.again and each.makes_repeat(sent):
                self.violate("P4", f"{sent} runs, but {each} of its identity had completed in an epoch before")

    def started(self, fetch: int, hook: str) -> Run:
        """Check that a hook may run."""
        sent, epoch = self.fetches[fetch]
        place = sent.offset, hook
        self.trace(f"{epoch.process} runs {hook} for {sent}, run {sent.runs[hook]}")
        self.require(hook in sent.scripts, "P7", f"{hook} runs for {sent}, which does not ask for it")
        self.require(not epoch.knows(place), "P6", f"{hook} runs again for {sent} though it has succeeded")
        self.require(sent.offset not in epoch.found.surely.buried, "P6", f"{sent} runs though it was buried")
        self.require(epoch.charge(place) < RETRY.max_attempts, "P6", f"{hook} has no attempts left for {sent}")
        self.require(self._is_found_in_time(sent, hook), "P11", f"{sent} has killed {sent.runs[hook]} times")
        self._check_order(sent, epoch)
        run = Run(sent, epoch, hook)
        epoch.running.add(run)
        return run

    def _is_found_in_time(self, sent: Sent, hook: str) -> bool:
        """Tell whether a killer was run only as often as it takes: at first, in a batch, alone, and late or cut off."""
        faults = self._setup.faults
        is_remembered = not (
            faults.commit_refused or faults.torn or faults.unknown_positions or faults.most_characters is not None
        )
        most_runs = self._setup.engine.max_crashes + _RUNS_TO_BE_FOUND
        return not (sent.scripts[hook].kills and is_remembered) or sent.runs[hook] < most_runs

    def _check_order(self, sent: Sent, epoch: Epoch) -> None:
        subject: object = () if self._setup.engine.order is Order.PARTITION else sent.key
        if self._setup.engine.order is Order.NONE or subject is None:
            return
        last = epoch.last_started.get(subject, -1)
        self.require(sent.offset >= last, "P3", f"{sent} starts after {last} of its subject, in one epoch")
        epoch.last_started[subject] = sent.offset
        for run in epoch.running:
            is_another = run.sent is not sent and (subject == () or run.sent.key == sent.key)
            self.require(not is_another, "P3", f"{sent} starts beside {run.sent} of its subject")
        for offset, earlier in self.sent[sent.partition].items():
            if offset < sent.offset and (subject == () or earlier.key == sent.key):
                self.require(self.is_settled(earlier), "P3", f"{sent} starts before {earlier} is settled")

    def ended(self, run: Run, result: str) -> None:
        """Note how a run ended, in a process that lives."""
        run.result = result
        run.epoch.running.discard(run)
        self.trace(f"{run.epoch.process} ran {run.hook} for {run.sent}: {result}, cancelled: {run.is_cancelled}")
        if run.is_cancelled or result not in {"ok", "outage"}:
            run.sent.bad_runs[run.hook] += 1
        if result == "ok" and not run.is_cancelled and not run.epoch.is_closed:
            run.sent.ok.add(run.hook)
            run.epoch.ok[run.sent.offset, run.hook] = self._clock.tick()

    def weighed(self, fetch: int, results: dict[str, str]) -> None:
        """Note that a failed attempt was decided on: from now on its failures are known."""
        sent, epoch = self.fetches[fetch]
        for hook, result in results.items():
            charge = {"ok": 0, "outage": 0, "permanent": _FOR_GOOD}.get(result, 1)
            epoch.failures.append((self._clock.tick(), (sent.offset, hook), charge))

    def told(self, fetch: int, outcome: Outcome) -> None:
        """Check that an outcome may be announced."""
        sent, epoch = self.fetches[fetch]
        kind = type(outcome).__name__
        self.trace(f"{epoch.process} tells {kind} of {sent}")
        self.require(not epoch.is_closed, "P13", f"{kind} of {sent} is announced after the end of its epoch")
        if kind in {"Retry", "Hold"}:
            return
        if epoch.begun.get(sent.identity) == sent.offset:
            del epoch.begun[sent.identity]
        epoch.settled[sent.offset] = self._clock.tick()
        if kind == "GiveUp":
            epoch.buried[sent.offset] = self._clock.tick()
            self.require(sent.letters, "P1", f"{sent} is given up, and the dead-letter topic does not hold it")
        if kind == "Duplicate":
            self.require(self.is_duplicate(sent), "P4", f"{sent} is told to be a duplicate of nothing")
        if kind == "Done" and not sent.again:
            epoch.completed.append(sent)
            if len(epoch.completed) > self._setup.engine.dedupe_window:
                epoch.completed.popleft()

    # Dead letters.

    def burying(self, fetch: int) -> None:
        """Check that a dead letter may be written."""
        sent, epoch = self.fetches[fetch]
        self.trace(f"{epoch.process} writes a dead letter of {sent}")
        self.require(not epoch.is_closed, "P13", f"a dead letter of {sent} is written after the end of its epoch")

    def buried(self, sent: Sent, letter_class: DeadLetterClass) -> None:
        """Check that a dead letter is for a record that deserves it."""
        self.trace(f"a dead letter of {sent}: {letter_class}")
        sent.letters.append(letter_class)
        match letter_class:
            case DeadLetterClass.CRASHED:
                is_guilty = sent.kills or sent.blame >= self._setup.engine.max_crashes
                self.require(is_guilty, "P11", f"{sent} is called a killer and is none")
            case DeadLetterClass.PERMANENT:
                is_bad = any(script.is_permanent for script in sent.scripts.values())
                self.require(is_bad, "P9", f"{sent} is dead-lettered as permanent, and no hook said so")
            case DeadLetterClass.EXHAUSTED:
                is_spent = any(count >= RETRY.max_attempts for count in sent.bad_runs.values())
                self.require(is_spent, "P9", f"{sent} is dead-lettered as exhausted before its budget was spent")
            case _:
                self.violate("P12", f"{sent} is dead-lettered as {letter_class}")

    # Commits.

    def committing(self, process: str, numbers: Iterable[int], written_at: int) -> dict[int, Epoch]:
        """Check that a process may commit what it wrote at a moment; gives its epochs."""
        epochs: dict[int, Epoch] = {}
        for number in numbers:
            epoch = self.epochs.get((process, number))
            if epoch is None:
                self.violate("P13", f"{process} commits partition {number}, which is not its own")
            elif written_at < epoch.opened_at:
                self.violate("P13", f"{process} commits for partition {number} what it wrote in an epoch before")
            else:
                epochs[number] = epoch
        return epochs

    def committed(self, epoch: Epoch, position: tuple[int, str], written_at: int) -> None:
        """Check a commit that the broker takes."""
        offset, text = position
        is_whole = self._setup.faults.most_characters is None
        number, before = epoch.number, self.durable[epoch.number].position
        self.trace(f"{epoch.process} has committed {number} at {offset} {text}")
        self.require(offset >= before, "P13", f"the commit of partition {number} goes back from {before} to {offset}")
        epoch.written_at = written_at
        self.durable[number] = epoch.durable(offset, written_at, has_text=bool(text), is_whole=is_whole)
        known = self.durable[number].perhaps | {place for place, when in epoch.ok.items() if when < written_at}
        known |= epoch.found.perhaps
        for each, sent in self.sent[number].items():
            if before <= each < offset:
                is_done = all((each, hook) in known for hook in sent.scripts)
                is_settled = is_done or sent.letters or self.is_duplicate(sent)
                self.require(is_settled, "P5", f"partition {number} is committed at {offset}, past {sent}")
