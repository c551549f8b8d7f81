"""What ``hookline topics apply`` creates: the topics of a domain, read from a file or by default.

The file names topics by their role, so one file serves any domain; names come from the settings.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from hookline.service._explain import explain
from hookline.service._problems import Problem, SettingsError
from hookline.service._tables import Count, Name, Table

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.service._settings import Settings

DEAD_LETTER_ALLOWANCE_BYTES = 64 * 1024
"""How much larger than an event its dead letter may be: the room for what is said about the failure."""

_BROKER_MAX_MESSAGE_BYTES = 1_048_588  # Kafka's own default of max.message.bytes
_BROKER_RETENTION_MS = 604_800_000  # and of retention.ms: a week
_DEAD_LETTER_RETENTION_MS = 2_592_000_000  # thirty days
_MAX_MESSAGE_BYTES = "max.message.bytes"
_RETENTION_MS = "retention.ms"
_NUMBERS = (_MAX_MESSAGE_BYTES, _RETENTION_MS, "min.insync.replicas")


class TopicRole(StrEnum):
    """What a topic is for; its name is in the settings."""

    HOOK = "hook"
    DEAD_LETTERS = "dead_letters"
    CONTROL = "control"

    def name_in(self, settings: Settings) -> str | None:
        """Name the topic of this role; None when the settings have none."""
        if self is TopicRole.CONTROL:
            return settings.control_topic()
        return settings.hook_topic() if self is TopicRole.HOOK else settings.dead_letter_topic()


def _config_value(value: object) -> object:
    # Kafka takes texts; TOML has numbers and booleans of its own.
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value


class TopicSpec(Table):
    """One topic: by role or by name, with its size and Kafka's own settings for it.

    ``replication_factor`` left out means the broker's default. ``config`` goes to the broker as it is.
    """

    role: TopicRole | None = None
    name: Name | None = None
    partitions: Count
    replication_factor: Count | None = None
    config: Annotated[dict[str, Annotated[str, BeforeValidator(_config_value)]], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _one_of_role_and_name(self) -> TopicSpec:
        if (self.role is None) == (self.name is None):
            raise ValueError("set either role or name")
        return self

    @model_validator(mode="after")
    def _numbers_are_numbers(self) -> TopicSpec:
        for key in _NUMBERS:
            if key in self.config and not self.config[key].removeprefix("-").isdecimal():
                raise ValueError(f'config."{key}" is not a whole number')
        return self

    @model_validator(mode="after")
    def _can_be_written(self) -> TopicSpec:
        needed = self.number("min.insync.replicas", 1)
        if self.replication_factor is not None and needed > self.replication_factor:
            raise ValueError('config."min.insync.replicas" is more than replication_factor: nothing could be written')
        return self

    def name_in(self, settings: Settings) -> str | None:
        """Name the topic in Kafka; None when the settings have none of its role."""
        return self.name or (self.role or TopicRole.HOOK).name_in(settings)

    def number(self, key: str, default: int) -> int:
        """Return a numeric setting of Kafka, or its default."""
        return int(self.config.get(key, default))


class TopicsFile(Table):
    """The topics of a domain.

    A hook topic and a dead-letter topic that stand in one file are held against each other: a dead letter must always fit,
    must not be compacted away, and must not be deleted before its event would be.
    """

    topics: tuple[TopicSpec, ...]

    @classmethod
    def default(cls) -> TopicsFile:
        """Make the topics of a domain, replicated as the broker does by default; dead letters are kept thirty days."""
        events = {"cleanup.policy": "delete"}
        letters = events | {
            _RETENTION_MS: str(_DEAD_LETTER_RETENTION_MS),
            _MAX_MESSAGE_BYTES: str(_BROKER_MAX_MESSAGE_BYTES + DEAD_LETTER_ALLOWANCE_BYTES),
        }
        hook = TopicSpec(role=TopicRole.HOOK, partitions=4, config=events)
        dead_letters = TopicSpec(role=TopicRole.DEAD_LETTERS, partitions=4, config=letters)
        control = TopicSpec(role=TopicRole.CONTROL, partitions=1, config={"cleanup.policy": "compact"})
        return cls(topics=(hook, dead_letters, control))

    @model_validator(mode="after")
    def _some_and_each_once(self) -> TopicsFile:
        if not self.topics:
            raise ValueError("topics is empty")
        seen = [topic.role or topic.name for topic in self.topics]
        twice = sorted({str(key) for key in seen if seen.count(key) > 1})
        if twice:
            raise ValueError(f"topics given twice: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _only_gates_are_compacted(self) -> TopicsFile:
        for topic in self.topics:
            # Compaction keeps the last event of a subject: every earlier one, handled or not, is lost. Of a gate just that
            # is wanted, and retention would open it.
            wanted = "compact" if topic.role is TopicRole.CONTROL else "delete"
            if topic.role and topic.config.get("cleanup.policy", "delete") != wanted:
                raise ValueError(f'{topic.role}: config."cleanup.policy" must be "{wanted}"')
        return self

    @model_validator(mode="after")
    def _dead_letters_fit_and_last(self) -> TopicsFile:
        hook, letters = self.of(TopicRole.HOOK), self.of(TopicRole.DEAD_LETTERS)
        if hook is None or letters is None:
            return self
        needed = hook.number(_MAX_MESSAGE_BYTES, _BROKER_MAX_MESSAGE_BYTES) + DEAD_LETTER_ALLOWANCE_BYTES
        if letters.number(_MAX_MESSAGE_BYTES, _BROKER_MAX_MESSAGE_BYTES) < needed:
            raise ValueError(
                f'dead_letters: config."{_MAX_MESSAGE_BYTES}" must be {needed} or more, so that every event fits'
            )
        if _retention(letters) < _retention(hook):
            raise ValueError(f'dead_letters: config."{_RETENTION_MS}" is less than that of the hook topic')
        return self

    def of(self, role: TopicRole) -> TopicSpec | None:
        """Find the topic of a role."""
        return next((topic for topic in self.topics if topic.role is role), None)


def _retention(topic: TopicSpec) -> float:
    milliseconds = topic.number(_RETENTION_MS, _BROKER_RETENTION_MS)
    return float("inf") if milliseconds < 0 else milliseconds


def load_topics_file(path: Path | None) -> TopicsFile:
    """Read what topics to make, or take the defaults when no file is given.

    Raises `SettingsError` with every problem found, by key.
    """
    if path is None:
        return TopicsFile.default()
    tables = _read(path)
    try:
        return TopicsFile.model_validate(tables)
    except ValidationError as error:
        raise SettingsError(explain(error, TopicsFile, lambda _: str(path), tables=tables)) from None


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = Problem(f"cannot be read: {error.strerror}", str(path), "check the path given with --file")
    except (ValueError, RecursionError) as error:
        problem = Problem(f"is not TOML: {error}", str(path), "see https://toml.io for the form")
    raise SettingsError([problem])
