from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Literal

import pytest

from ._find import RealKafka
from ._topics import Topics

if TYPE_CHECKING:
    from hookline.kafka import EmbeddedBroker

BrokerKind = Literal["embedded", "real"]
_EMBEDDED_PARTITIONS = 4


class TestBroker(Topics):
    """The broker of a test that runs on both kinds."""

    __test__ = False

    def __init__(self, behind: EmbeddedBroker | RealKafka) -> None:
        super().__init__(behind.bootstrap)
        self._behind = behind
        self.kind: BrokerKind = "real" if isinstance(behind, RealKafka) else "embedded"

    def topic(self, *, partitions: int = _EMBEDDED_PARTITIONS) -> str:
        """Make a topic of a name that nobody used.

        The embedded broker has topics of 4 partitions only: another number skips the test there.
        """
        return self._make(f"test-{uuid.uuid4().hex[:12]}", partitions)

    def domain(self, *, partitions: int = _EMBEDDED_PARTITIONS) -> str:
        """Make the topics `<domain>-hook` and `<domain>-hook_dlq` of a domain that nobody used, and name the domain."""
        domain = f"test{uuid.uuid4().hex[:12]}"
        self._make(f"{domain}-hook", partitions)
        self._make(f"{domain}-hook_dlq", partitions)
        return domain

    def _make(self, name: str, partitions: int) -> str:
        if isinstance(self._behind, RealKafka):
            return self._behind.create_topic(name, partitions)
        if partitions != _EMBEDDED_PARTITIONS:
            pytest.skip(f"the embedded broker has topics of {_EMBEDDED_PARTITIONS} partitions only")
        self._behind.create_topics(name)
        return name
