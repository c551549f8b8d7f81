"""What is published in a history: few subjects, null keys, repeats, republished dead letters."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from hookline import Event
from hookline.contract import encode_event
from hookline.kafka import Record
from tests.simulate._kafka import FETCH_HEADER
from tests.simulate._ledger import Sent
from tests.simulate._scripts import draw_script, killer
from tests.simulate._setup import HOOKS, TOPIC

if TYPE_CHECKING:
    from hookline.contract import DeadLetter, EncodedRecord, Headers
    from tests.simulate._world import World

_REPEATED = 0.12
_KEYLESS = 0.15
_HOLE = 0.15


class Publisher:
    """Puts records on the topic at random moments."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._versions = count(1)
        self._said: list[tuple[EncodedRecord, bytes | None, int, tuple[str, ...]]] = []

    def plan(self) -> None:
        """Put all publications on the agenda, in one or two bursts and between."""
        world, setup = self._world, self._world.setup
        killers = set(world.rng.sample(range(setup.records), setup.killers))
        for number in range(setup.records):
            moment = world.rng.choice((0.0, 0.0, world.rng.uniform(0.0, setup.seconds * 0.8)))
            world.after(moment, partial(self._publish, kills=number in killers))

    def _publish(self, *, kills: bool) -> None:
        rng = self._world.rng
        if self._said and rng.random() < _REPEATED and not kills:
            record, key, number, hooks = rng.choice(self._said)
            key = rng.choice((key, key, None))
        else:
            record, key, number, hooks = self._event()
            self._said.append((record, key, number, hooks))
        self._append(number, key, record.value, record.headers, hooks, kills=kills)

    def _event(self) -> tuple[EncodedRecord, bytes | None, int, tuple[str, ...]]:
        rng = self._world.rng
        subject = f"s{rng.randrange(self._world.setup.subjects)}"
        wanted = rng.choices((1, 2, 3), (5, 3, 2))[0]
        event = Event.versioned(source="sim", type=f"x.{wanted}", subject=subject, version=next(self._versions))
        record = encode_event(event)
        number = int(subject[1:]) % self._world.setup.partitions
        key = None if rng.random() < _KEYLESS else record.key
        return record, key, number, HOOKS[:wanted]

    def republish(self, letter: DeadLetter) -> None:
        """Put a dead letter back, for all hooks or those that failed."""
        rng = self._world.rng
        if not self._world.is_faulty:
            return
        before = self._world.checks.sent[letter.source.partition][letter.source.offset]
        failed = tuple(failure.hook for failure in letter.failures)
        resolved = HOOKS[: int((dict(letter.headers)["ce_type"] or b"").decode()[-1])]
        hooks = rng.choice((None, failed or None))
        again = rng.random() < 0.2
        headers = letter.republished(hooks=hooks, operation="sim", again=again)
        again = again or letter.again
        placed = before.partition, letter.key, letter.value, headers, hooks or resolved
        self._append(*placed, kills=False, again=again, names_hooks=hooks is not None)

    def _append(
        self,
        number: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        hooks: tuple[str, ...],
        *,
        kills: bool,
        again: bool = False,
        names_hooks: bool = False,
    ) -> None:
        world = self._world
        own = tuple(header for header in headers if header[0] != FETCH_HEADER)
        written_ms = int(world.clock.wall() * 1000)
        hole = world.rng.randint(1, 5) if world.rng.random() < _HOLE else 0
        tail = 1 if world.rng.random() < _HOLE else 0
        placed = world.topic.append(Record(TOPIC, number, 0, written_ms, key, value, own), hole, tail)
        scripts = {hook: draw_script(world.rng) for hook in hooks}
        if kills:
            scripts[world.rng.choice(hooks)] = killer(world.rng)
        found = dict(own)
        identity = ((found["ce_source"] or b"").decode(), (found["ce_id"] or b"").decode())
        world.nudge()
        world.checks.published(Sent(number, placed.offset, key, identity, scripts, again, names_hooks))
