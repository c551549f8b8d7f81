"""The topic keys a host has registered: its opt-in."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ._errors import TopicKeyMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping


class TopicRegistry:
    """Maps topic keys (`hook`) to topics. Immutable.

    Registering a key is how a host opts in. To be off is to make no publisher: a publisher is never one that skips.
    """

    def __init__(self, topics: Mapping[str, str]) -> None:
        self._topics = MappingProxyType(dict(topics))

    def topic(self, key: str) -> str:
        """Return the topic of a key; raises TopicKeyMissingError, naming the key, when the host has not registered it."""
        try:
            return self._topics[key]
        except KeyError:
            raise TopicKeyMissingError(key, self._topics) from None

    def __contains__(self, key: object) -> bool:
        return key in self._topics

    def __repr__(self) -> str:
        return f"TopicRegistry({dict(self._topics)!r})"
