"""Which errors of the client stand in the way of work, and what ends them."""

from __future__ import annotations

import pytest

from hookline.consume import EngineStatus
from hookline.kafka import ErrorKind, Fault

AWAY = Fault("_ALL_BROKERS_DOWN", ErrorKind.DEPENDENCY, "1/1 brokers are down")
MISSING = Fault("UNKNOWN_TOPIC_OR_PART", ErrorKind.CONFIGURATION, "no such topic")
MAY_NOT_READ = Fault("TOPIC_AUTHORIZATION_FAILED", ErrorKind.CONFIGURATION, "not allowed")
MAY_NOT_JOIN = Fault("GROUP_AUTHORIZATION_FAILED", ErrorKind.CONFIGURATION, "not allowed")
BROKEN = Fault("_BAD_COMPRESSION", ErrorKind.PERMANENT, "cannot be read")


@pytest.mark.parametrize("fault", [AWAY, MISSING])
def test_an_answer_ends_what_it_disproves(fault: Fault) -> None:
    """Cases: silent-no-progress. An idle consumer is ready again once the broker answers somebody else."""
    status = EngineStatus()
    status.note(fault)
    status.answered()
    assert not status.faults


@pytest.mark.parametrize("fault", [MAY_NOT_READ, MAY_NOT_JOIN, BROKEN])
def test_an_answer_to_somebody_else_proves_no_right(fault: Fault) -> None:
    """Cases: silent-no-progress. What the client says only once stays until this consumer has done its work."""
    status = EngineStatus()
    status.note(fault)
    status.answered()
    assert list(status.faults.values()) == [fault]
    status.recovered()
    assert not status.faults


def test_who_has_joined_may_join() -> None:
    """Joining ends every error but that the topic may not be read, which comes after it and is said once."""
    status = EngineStatus()
    status.note(MAY_NOT_JOIN)
    status.note(AWAY)
    status.has_joined()
    assert status.joined
    assert not status.faults
    status.note(MAY_NOT_READ)
    status.has_joined()
    assert list(status.faults.values()) == [MAY_NOT_READ]


def test_a_passing_error_does_not_hide_a_lasting_one() -> None:
    """Cases: silent-no-progress. Two errors of one kind stand side by side; the one that passes takes only itself away."""
    status = EngineStatus()
    status.note(MAY_NOT_READ)
    status.note(MISSING)
    status.answered()
    assert list(status.faults.values()) == [MAY_NOT_READ]
