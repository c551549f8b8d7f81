"""Dead letters of a group that runs one hook."""

from __future__ import annotations

import pytest

from hookline.consume import GiveUp
from hookline.consume._dead_letters import dead_letter_of
from hookline.consume._suspects import crashed
from hookline.contract import DeadLetter, DeadLetterClass, HookFailure
from hookline.hooks import OwnLetters
from tests.support.hooks import delivery_of
from tests.unit.hooks.hygiene import Post

FAILURE = HookFailure(
    hook="ci", verdict="unknown", exception="ValueError", message="no", attempts=2, elapsed_seconds=1.0, code="x"
)


@pytest.mark.parametrize(
    "give_up",
    [crashed(3), GiveUp(DeadLetterClass.PERMANENT, "resolver_failed", "it raised")],
    ids=lambda each: each.code,
)
async def test_a_letter_names_the_hook_whatever_it_is_for(give_up: GiveUp) -> None:
    """P14: one for which no hook could be asked is republished for this hook alone: other groups may be done with the event."""
    letter = await _written(give_up)
    assert [failure.hook for failure in letter.failures] == ["ci"]
    assert (letter.code, letter.letter_class, letter.message) == (give_up.code, give_up.letter_class, give_up.message)
    assert letter.failures[0].code == give_up.code


async def test_what_a_hook_said_stands_as_it_is() -> None:
    """P14: a letter with failures is left alone."""
    letter = await _written(GiveUp(DeadLetterClass.PERMANENT, "x", "no", (FAILURE,)))
    assert letter.failures == (FAILURE,)


async def _written(give_up: GiveUp) -> DeadLetter:
    post = Post()
    await OwnLetters(post, "d", "ci").write(dead_letter_of(delivery_of(), give_up, "g.ci"))
    (letter,) = post.letters
    return letter
