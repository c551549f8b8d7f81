"""The dead letters of a domain, opened from its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.deadletters import DeadLetters
from hookline.kafka import TopicReader

if TYPE_CHECKING:
    from hookline.errs import Redactor
    from hookline.service._settings import Settings


_ANSWER_SECONDS = 8.0


def dead_letters_of(settings: Settings) -> DeadLetters:
    """Open the dead letters that settings name; reading them joins no group and moves no offset."""
    return DeadLetters(
        TopicReader(settings.client_config(), _ANSWER_SECONDS).stream,
        dead_letter_topic=settings.dead_letter_topic(),
        hook_topics={settings.hook_topic()},
        redact=redactor_of(settings).redact,
    )


def redactor_of(settings: Settings) -> Redactor:
    """Make the redactor of a service: the patterns that settings name, and every secret that they hold."""
    return settings.redactor()
