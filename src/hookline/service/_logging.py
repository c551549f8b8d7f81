"""The log of a service, as its settings say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookline.service._dead_letters import redactor_of
from hookline.telemetry import configure_logging

if TYPE_CHECKING:
    from hookline.service._settings import Settings


def configure_service_logging(settings: Settings) -> None:
    """Log to standard output in the form and from the level that settings name, without the secrets they hold."""
    configure_logging(
        format=settings.log.format, level=settings.log.level, stream=sys.stdout, redact=redactor_of(settings).redact
    )
