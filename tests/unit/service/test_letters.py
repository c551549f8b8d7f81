"""Which dead letters keep a group from taking a record for completed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hookline.hooks import Hooks
from hookline.service import Settings
from hookline.service._isolation import Isolation
from hookline.service._letters import LettersOfOne, LettersOfReplay, LettersOfShared
from tests.support.hooks import Script
from tests.unit.deadletters.making import letter

if TYPE_CHECKING:
    from hookline.contract import DeadLetter

SHARED = "orders-hook"
REPLAY = f"{SHARED}.ci.replay-0123456789ab"


def isolation_of(**own: Any) -> Isolation:
    """Make a domain of `ci`, which was `build` and has a group of its own, and `chat`, which has none."""
    ci = Script("ci")
    for name, value in {"isolation": "own", "renamed_from": "build", **own}.items():
        setattr(ci, name, value)
    settings = {"domain": "orders", "kafka": {"common": {"bootstrap.servers": "127.0.0.1:1"}}}
    return Isolation(Settings.model_validate(settings), Hooks({"*": [ci, Script("chat")]}))


def written_by(group: str, *hooks: str) -> DeadLetter:
    return replace(letter(hooks=hooks), group=group)


@pytest.mark.parametrize(
    ("group", "hooks", "counts"),
    [
        (f"{SHARED}.ci", ["ci"], True),
        (f"{SHARED}.build", ["build"], True),
        (f"{SHARED}.chat", ["chat"], False),
        (REPLAY, ["ci"], False),
        (SHARED, ["chat", "ci"], True),
        (SHARED, ["build"], True),
        (SHARED, ["chat"], False),
        (SHARED, [], True),
        ("", [], True),
    ],
)
def test_a_hook_has_completed_what_failed_for_others(group: str, hooks: list[str], *, counts: bool) -> None:
    """P4: in its own group what is given up for it alone keeps a record open, under each of its names."""
    assert LettersOfOne.of(isolation_of(), "ci")(written_by(group, *hooks)) is counts


@pytest.mark.parametrize(
    ("group", "counts", "counts_when_shared"),
    [
        (SHARED, True, True),
        (f"{SHARED}.ci", False, True),
        (f"{SHARED}.build", False, True),
        (f"{SHARED}.chat", True, True),
        (REPLAY, False, False),
        ("", True, True),
        ("elsewhere", True, True),
    ],
)
def test_the_shared_group_has_completed_what_failed_elsewhere(
    group: str, *, counts: bool, counts_when_shared: bool
) -> None:
    """P4: replays and hooks with their own groups say nothing of what it runs; once it runs such a hook again they do."""
    assert LettersOfShared.of(isolation_of())(written_by(group, "ci")) is counts
    assert LettersOfShared.of(isolation_of(isolation=None))(written_by(group, "ci")) is counts_when_shared


def test_a_replay_has_completed_what_failed_elsewhere() -> None:
    """P4: what the hook's group or another replay gave up says nothing of what this one is done with."""
    counts = LettersOfReplay(REPLAY)
    assert [counts(written_by(group, "ci")) for group in (REPLAY, "", SHARED, f"{SHARED}.ci")] == [
        True,
        True,
        False,
        False,
    ]
