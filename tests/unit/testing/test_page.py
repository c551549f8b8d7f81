from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.docs.pages import blocks, named

if TYPE_CHECKING:
    from collections.abc import Callable


def _tests() -> list[Callable[[], Any]]:
    tests: list[Callable[[], Any]] = []
    for block in blocks("python"):
        if named(block.page) == "docs/testing.md":
            names: dict[str, Any] = {"__name__": "example"}
            exec(compile(block.text, named(block.page), "exec"), names)  # noqa: S102 - our own page
            tests += [value for name, value in names.items() if name.startswith("test_")]
    return tests


@pytest.mark.parametrize("test", _tests(), ids=lambda test: test.__name__)
def test_the_page_is_right(test: Callable[[], Any]) -> None:
    """What docs/testing.md shows as tests are tests, and pass."""
    assert not test.__code__.co_argcount
    if inspect.iscoroutinefunction(test):
        asyncio.run(test())
    else:
        test()


def test_the_page_shows_tests() -> None:
    """The page has examples of each kind."""
    assert len(_tests()) == 6
