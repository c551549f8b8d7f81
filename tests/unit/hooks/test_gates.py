"""What is closed of a domain, as the stage asks for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import GateKey
from hookline.hooks import Gate, Gates

names = st.sampled_from(["", "a", "b"])
some_gates = st.lists(st.builds(Gate, st.sampled_from(["orders", "others"]), names, names), max_size=6)


class Told:
    """Counts how often it was told."""

    def __init__(self, gates: Gates) -> None:
        self.times = 0
        gates.changed.append(self._count)

    def _count(self) -> None:
        self.times += 1


def test_nothing_is_closed_at_first() -> None:
    """Gates without a closed one are open, for every hook and subject."""
    gates = Gates("orders")
    assert gates.is_open
    assert gates.closed_for("ci", "b/1") is None


@pytest.mark.parametrize(
    ("gate", "stopped"),
    [
        (Gate("orders"), {("ci", "b/1"), ("ci", "b/2"), ("ci", ""), ("audit", "b/1"), ("audit", "b/2"), ("audit", "")}),
        (Gate("orders", "ci"), {("ci", "b/1"), ("ci", "b/2"), ("ci", "")}),
        (Gate("orders", "", "b/1"), {("ci", "b/1"), ("audit", "b/1")}),
        (Gate("orders", "ci", "b/1"), {("ci", "b/1")}),
        (Gate("others"), set()),
    ],
    ids=["domain", "hook", "subject", "hook and subject", "another domain"],
)
def test_what_a_gate_stops(gate: Gate, stopped: set[tuple[str, str]]) -> None:
    """A gate stops what it names and nothing else."""
    gates = Gates("orders")
    gates.close(gate)
    every = {(hook, subject) for hook in ("ci", "audit") for subject in ("b/1", "b/2", "")}
    assert {each for each in every if gates.closed_for(*each) is not None} == stopped
    assert gates.is_open == (not stopped)


def test_the_widest_gate_is_told() -> None:
    """Of several gates the widest is told: it is the one that would have to be opened last."""
    gates = Gates("orders")
    gates.replace_all([Gate("orders", "ci", "b"), Gate("orders", "", "b"), Gate("orders", "ci"), Gate("orders")])
    for expected in (Gate("orders"), Gate("orders", "ci"), Gate("orders", "", "b"), Gate("orders", "ci", "b")):
        assert gates.closed_for("ci", "b") == expected
        gates.open(expected.key)
    assert gates.is_open


def test_whoever_waits_is_told_once_a_change() -> None:
    """Callbacks are called after a change, once for any number of gates, and not when nothing changes."""
    gates = Gates("orders")
    told = Told(gates)
    gates.apply({GateKey("orders", "ci"): Gate("orders", "ci"), GateKey("orders", "x"): Gate("orders", "x")})
    gates.close(Gate("orders", "ci"))
    gates.open(GateKey("orders", "nobody"))
    gates.close(Gate("others", "ci"))
    assert told.times == 1
    gates.replace_all([])
    assert told.times == 2


@given(some_gates, names.filter(bool), names)
def test_closed_for_agrees_with_the_list(closed: list[Gate], hook: str, subject: str) -> None:
    """A hook is stopped exactly when one of the domain's closed gates names it or all, and the subject or all."""
    gates = Gates("orders")
    gates.replace_all(closed)
    expected = any(
        gate.domain == "orders" and gate.hook in {"", hook} and gate.subject in {"", subject} for gate in closed
    )
    assert (gates.closed_for(hook, subject) is not None) == expected
    assert gates.is_open == (not gates.closed)
