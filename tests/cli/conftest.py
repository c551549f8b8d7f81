"""A domain with topics on the real broker, for commands that run as processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.domains import Domain
from tests.support.kafka import TestBroker

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine
    from tests.support.kafka import RealKafka


@pytest.fixture
def domain(real_kafka: RealKafka, command_line: CommandLine) -> Domain:
    """Give a domain that nobody used, its settings in `hookline.toml`, where every command finds them."""
    domain = Domain(TestBroker(real_kafka))
    command_line.write("hookline.toml", domain.settings())
    return domain
