"""Safeguards that can be taken out, to show that the checks see it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MUTATIONS: Final[dict[str, Callable[[ExitStack], None]]] = {}


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """Take a safeguard out for a while; None takes none."""
    with ExitStack() as stack:
        if name is not None:
            MUTATIONS[name](stack)
        yield
