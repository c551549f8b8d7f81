"""The program that writes CDEvents, and how its records are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from examples.cdevents import foreign
from examples.cdevents.__main__ import expected
from examples.cdevents.foreign import MODES, Mode, message_of, read_cdevents
from hookline.contract import decode_record, event_to_json

if TYPE_CHECKING:
    from hookline import Event

_EXAMPLES: Final = Path(__file__).parents[2] / "vectors" / "cdevents-spec-0.5.1" / "conformance"


def _read(cdevent: dict[str, Any], mode: Mode) -> Event:
    message = message_of(cdevent, mode)
    key = message.key.encode() if isinstance(message.key, str) else message.key
    return decode_record(key, message.value, tuple(message.headers.items()))


def test_the_writer_is_a_stranger() -> None:
    """The writing program imports nothing of hookline: what it writes, any CloudEvents producer may write."""
    assert not [name for name, value in vars(foreign).items() if "hookline" in getattr(value, "__module__", name)]


@pytest.mark.parametrize("mode", MODES)
def test_every_cdevent_is_read_as_it_was_written(mode: Mode) -> None:
    """All 45 example events arrive with the envelope of the CDEvents binding and the whole CDEvent as payload."""
    cdevents = read_cdevents(_EXAMPLES, mode)
    assert len(cdevents) == 45
    for cdevent in cdevents:
        written = expected(cdevent)
        read = event_to_json(_read(cdevent, mode))
        assert {name: read[name] for name in written} == written


@pytest.mark.parametrize("mode", MODES)
def test_big_integers_survive(mode: Mode) -> None:
    """An integer that no double can hold arrives exact: foreign JSON never passes through a Struct."""
    (cdevent, *_) = read_cdevents(_EXAMPLES, mode)
    cdevent["customData"] = {"numbers": [2**53 + 1, 2**63, -(10**30)]}
    assert _read(cdevent, mode).payload["customData"] == {"numbers": [2**53 + 1, 2**63, -(10**30)]}


def test_every_event_sent_has_an_id_of_its_own() -> None:
    """The examples of the specification share two ids; sent as they stand, most would be duplicates of another."""
    shared = {json.loads(path.read_bytes())["context"]["id"] for path in _EXAMPLES.glob("*.json")}
    sent = {cdevent["context"]["id"] for mode in MODES for cdevent in read_cdevents(_EXAMPLES, mode)}
    assert (len(shared), len(sent)) == (2, 90)
