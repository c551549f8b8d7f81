"""Walks over an error: its `__cause__` chain, the members of its groups, never its `__context__`.

Every walk is iterative, ends on cycles and enters a group once, so a hostile error costs linear time and no stack.
Types and links are read past whatever a class overrides: `__class__` and `__cause__` may be properties that raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar

from hookline.errs._wraps import WrappedError

if TYPE_CHECKING:
    from collections.abc import Iterator

E = TypeVar("E", bound=BaseException)

# A chain longer than this is a loop that forgot to end; what lies deeper is not looked at.
MAX_CHAIN: Final = 256

_cause_of = BaseException.__dict__["__cause__"].__get__
_members_of = BaseExceptionGroup.__dict__["exceptions"].__get__


def is_of(error: object, kind: type[E]) -> TypeGuard[E]:
    """Tell whether `error` is of a class, past a `__class__` that lies or raises."""
    return issubclass(type(error), kind)


def is_group(error: object) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """Tell whether `error` is a group, ours or foreign."""
    return issubclass(type(error), BaseExceptionGroup)


def is_wrap(error: object) -> TypeGuard[WrappedError]:
    """Tell whether `error` is one of our transparent wraps."""
    return issubclass(type(error), WrappedError)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and its causes, outermost first, wraps included; ends at a group, which it yields."""
    seen: set[int] = set()
    node: BaseException | None = error
    while node is not None and id(node) not in seen and len(seen) < MAX_CHAIN:
        seen.add(id(node))
        yield node
        node = None if is_group(node) else _cause_of(node)


def members(found: list[BaseException], seen: set[int]) -> list[BaseException]:
    """Return the members of the group a chain ends in, last first for a stack; none when it was entered before."""
    group = found[-1]
    if not is_group(group) or id(group) in seen:
        return []
    seen.add(id(group))
    return list(reversed(_members_of(group)))


def chains(error: BaseException) -> Iterator[list[BaseException]]:
    """Yield the chain of `error` and of every member of every group below, in order."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        found = list(chain(waiting.pop()))
        yield found
        waiting.extend(members(found, seen))


def wraps(node: BaseException) -> Iterator[WrappedError]:
    """Yield the wraps that stand at one node of a chain.

    `raise user_error(bad_order) from http_error` replaces the wrap's cause; then what it wraps belongs to its node.
    """
    while is_wrap(node):
        yield node
        if _cause_of(node) is node.error:
            return
        node = node.error


def face(node: BaseException) -> BaseException | None:
    """Return the error a node of a chain shows; None for a wrap whose error is the next node."""
    for wrap in wraps(node):
        node = wrap
    if not is_wrap(node):
        return node
    return None if _cause_of(node) is node.error else node.error


def faces(error: BaseException) -> Iterator[BaseException]:
    """Yield every error below and including `error` that shows, outermost first; no wraps and no groups."""
    for found in chains(error):
        yield from shown(found)


def shown(found: list[BaseException]) -> list[BaseException]:
    """Return the errors that show on one chain; no wraps and no groups."""
    return [node for node in map(face, found) if node is not None and not is_group(node)]


def peek(value: Any, *path: str) -> Any:
    """Follow attributes of somebody else's object; None when one is missing or its property raises."""
    for name in path:
        try:
            value = getattr(value, name, None)
        except Exception:  # noqa: BLE001  # a foreign property may raise anything: httpx's `request` raises RuntimeError when unset
            return None
    return value
