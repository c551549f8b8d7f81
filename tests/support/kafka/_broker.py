from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Literal

import pytest

from ._topics import Topics

if TYPE_CHECKING:
    from ._find import RealKafka

BrokerKind = Literal["embedded", "real"]
_EMBEDDED_PARTITIONS = 4


class TestBroker(Topics):
    """The broker of a test that runs on both kinds."""

    __test__ = False

    def __init__(self, bootstrap: str, real: RealKafka | None = None) -> None:
        super().__init__(bootstrap)
        self._real = real
        self.kind: BrokerKind = "real" if real else "embedded"

    def topic(self, *, partitions: int = _EMBEDDED_PARTITIONS) -> str:
        """Return a topic of a name that nobody used; the embedded broker makes it, with 4 partitions, at first use.

        Another number of partitions skips the test on the embedded broker.
        """
        return self._make(f"test-{uuid.uuid4().hex[:12]}", partitions)

    def domain(self, *, partitions: int = _EMBEDDED_PARTITIONS) -> str:
        """Return a domain that nobody used, with its topics `<domain>-hook` and `<domain>-hook_dlq`."""
        domain = f"test{uuid.uuid4().hex[:12]}"
        self._make(f"{domain}-hook", partitions)
        self._make(f"{domain}-hook_dlq", partitions)
        return domain

    def _make(self, name: str, partitions: int) -> str:
        if self._real:
            return self._real.create_topic(name, partitions)
        if partitions != _EMBEDDED_PARTITIONS:
            pytest.skip(f"the embedded broker makes topics of {_EMBEDDED_PARTITIONS} partitions only")
        self.admin.list_topics(name, timeout=10)
        return name
