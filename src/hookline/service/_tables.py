"""The tables of ``hookline.toml``: every key, its default and its bounds.

Keys that a later version brings are known here, so that they are refused by a sentence and never ignored.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from hookline.consume import EngineSettings, Order, RetryPolicy
from hookline.hooks import BreakerPolicy, Condition, GuardPolicy
from hookline.kafka import OWNED_KEYS
from hookline.service._listen import ListenAddress
from hookline.service._moments import START, moment_of

LATER: dict[str, str] = {}

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_RETRY = RetryPolicy()
_ENGINE = EngineSettings()
_BREAKER = BreakerPolicy()
_GUARD = GuardPolicy()
_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_IMPORT_PATH = re.compile(f"{_DOTTED}:{_DOTTED}")


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError, a TypeError escapes
    return value


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError('must be a URL such as "https://example.com/path"')
    return text


def _name(text: str) -> str:
    if _NAME.fullmatch(text) is None or text in {".", ".."}:
        raise ValueError("must be 1 to 249 of the characters A-Z a-z 0-9 . _ -")
    return text


def _name_or_nothing(text: str) -> str:
    return _name(text) if text else text


def _import_path(text: str) -> str:
    if _IMPORT_PATH.fullmatch(text) is None:
        raise ValueError('must be "package.module:attribute"')
    return text


def _start(value: Any) -> Any:
    if isinstance(value, datetime):  # TOML has times of its own
        value = value.isoformat()
    try:
        _ = isinstance(value, str) and moment_of(value)
    except ValueError as error:
        raise ValueError(f"must be {START}") from error
    return value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error.msg}") from error
    return text


def _condition(text: str) -> str:
    Condition(text)
    return text


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, (str, Path)) else value


def _option(value: Any) -> Any:
    # librdkafka takes texts; TOML has numbers and booleans of its own.
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


Count = Annotated[int, BeforeValidator(_number), Field(ge=1)]
CountOrNone = Annotated[int, BeforeValidator(_number), Field(ge=0)]
Seconds = Annotated[float, BeforeValidator(_number), Field(ge=0)]
PositiveSeconds = Annotated[float, BeforeValidator(_number), Field(gt=0)]
Name = Annotated[str, AfterValidator(_name)]
NameOrNothing = Annotated[str, AfterValidator(_name_or_nothing)]
Text = Annotated[str, StringConstraints(min_length=1)]
Url = Annotated[str, AfterValidator(_url), Field(repr=False)]
ImportPath = Annotated[str, AfterValidator(_import_path)]
Start = Annotated[str, BeforeValidator(_start)]
LabelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Headers = Annotated[dict[str, str], Field(repr=False)]
ClientOptions = Annotated[dict[str, Annotated[str, BeforeValidator(_option)]], Field(repr=False)]


class Table(BaseModel):
    """One table of the file: immutable, closed against unknown keys, silent about its input."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)


class KafkaTable(Table):
    """Options of librdkafka, by its own names, and the callable that fetches OAuth tokens."""

    common: ClientOptions = {}
    consumer: ClientOptions = {}
    producer: ClientOptions = {}
    admin: ClientOptions = {}
    oauth: ImportPath | None = None

    @field_validator("common", "consumer", "producer", "admin")
    @classmethod
    def _not_owned(cls, options: dict[str, str]) -> dict[str, str]:
        owned = [f'"{key}" ({OWNED_KEYS[key]})' for key in options if key in OWNED_KEYS]
        if owned:
            raise ValueError(f"set by hookline itself, remove it: {', '.join(owned)}")
        return options

    def tables(self) -> dict[str, dict[str, str]]:
        """Return the tables of options by name."""
        return {"common": self.common, "consumer": self.consumer, "producer": self.producer, "admin": self.admin}


class TopicsTable(Table):
    """Names of topics, where they are not made from the domain."""

    hook: Name | None = None
    dead_letters: Name | None = None
    control: NameOrNothing | None = None
    """Empty: there is no control topic."""


class GroupsTable(Table):
    """Names of consumer groups, where they are not made from the domain."""

    hook: Text | None = None
    dead_letters: Text | None = None


class RetryTable(Table):
    """How often and how long a failing hook is tried again."""

    max_attempts: Count = _RETRY.max_attempts
    initial_seconds: PositiveSeconds = _RETRY.initial_seconds
    max_seconds: PositiveSeconds = _RETRY.max_seconds
    dependency_seconds: Seconds = _RETRY.dependency_seconds

    @model_validator(mode="after")
    def _in_order(self) -> RetryTable:
        if self.max_seconds < self.initial_seconds:
            raise ValueError("max_seconds is less than initial_seconds")
        return self


class HookRetryTable(Table):
    """How often and how long one hook is tried again; what is missing is as in ``[retry]``."""

    max_attempts: Count | None = None
    initial_seconds: PositiveSeconds | None = None
    max_seconds: PositiveSeconds | None = None
    dependency_seconds: Seconds | None = None

    def over(self, common: RetryTable) -> RetryTable:
        """Return the whole policy of the hook. Raises ValueError when its parts contradict each other."""
        return RetryTable(**common.model_dump() | self.model_dump(exclude_none=True))


class BreakerTable(Table):
    """When a hook's dependency counts as away, and how its return is found."""

    enabled: bool = _BREAKER.enabled
    window_seconds: PositiveSeconds = _BREAKER.window_seconds
    subjects: Count = _BREAKER.subjects
    share: Annotated[Seconds, Field(gt=0, le=1)] = _BREAKER.share
    probe_seconds: PositiveSeconds = _BREAKER.probe_seconds
    max_probe_seconds: PositiveSeconds = _BREAKER.max_probe_seconds
    page_after_seconds: Seconds = 300.0


class GuardTable(Table):
    """When a hook counts as broken and is held, so that a bad deploy does not dead-letter every event."""

    enabled: bool = _GUARD.enabled
    outcomes: Annotated[Count, Field(le=10_000)] = _GUARD.outcomes
    subjects: Count = _GUARD.subjects
    share: Annotated[Seconds, Field(gt=0, lt=1)] = _GUARD.share


class HttpTable(Table):
    """Where health and metrics are served."""

    listen: str = "127.0.0.1:8190"

    @field_validator("listen")
    @classmethod
    def _readable(cls, text: str) -> str:
        ListenAddress.parse(text)
        return text

    @property
    def address(self) -> ListenAddress:
        """The address of ``listen``."""
        return ListenAddress.parse(self.listen)


class HookTable(Table):
    """One hook from the file; the keys not named here are the options of its kind."""

    model_config = ConfigDict(extra="allow")

    name: Name
    kind: Text
    types: Annotated[list[Text], Field(min_length=1)] = ["*"]
    sources: Annotated[list[Text], Field(min_length=1)] = ["*"]
    when: Annotated[str, AfterValidator(_condition)] | None = None
    timeout_seconds: PositiveSeconds | None = None
    concurrency: Count | None = None
    rate: PositiveSeconds | None = None
    max_age_seconds: PositiveSeconds | None = None
    retry: HookRetryTable | None = None
    isolation: Literal["own"] | None = None
    start: Start | None = None
    renamed_from: Name | None = None

    @model_validator(mode="after")
    def _available(self) -> HookTable:
        later = [f"{key} ({LATER[f'hooks.{key}']})" for key in self.options if f"hooks.{key}" in LATER]
        if later:
            raise ValueError(f"not available in this version: {', '.join(later)}; remove it")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """The keys that the hook's kind reads."""
        return dict(self.model_extra or {})

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Show the hook's name and kind; its options may be secrets."""
        return [("name", self.name), ("kind", self.kind)]


class DeadLettersTable(Table):
    """What the reconciler does with a dead letter besides counting and paging it."""

    log_payload: bool = True


class WebhookPagerTable(Table):
    """A pager that posts a JSON document to a URL, signed when it has secrets (one a line of ``secret_file``)."""

    kind: Literal["webhook"]
    name: Name = "webhook"
    url: Url
    secret_file: Annotated[tuple[Path, ...], BeforeValidator(_one_or_more)] = ()
    headers: Headers = {}
    timeout_seconds: PositiveSeconds = 10.0


class AlertmanagerPagerTable(Table):
    """A pager that raises alerts in a Prometheus Alertmanager."""

    kind: Literal["alertmanager"]
    name: Name = "alertmanager"
    url: Url
    headers: Headers = {}
    timeout_seconds: PositiveSeconds = 10.0
    labels: dict[LabelName, str] = {}
    severity: Text = "critical"
    keep_seconds: PositiveSeconds = 3600.0


Pager = Annotated[WebhookPagerTable | AlertmanagerPagerTable, Field(discriminator="kind")]


class LogTable(Table):
    """Form and level of the log on standard output, and what is masked in it."""

    format: Literal["json", "console"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"
    redact: Annotated[list[Annotated[Text, AfterValidator(_pattern)]], Field(repr=False)] = []


class ConsumeTable(Table):
    """How much the stage takes in at once."""

    concurrency: Annotated[Count, Field(le=100_000)] = _ENGINE.concurrency
    window_records: Count = _ENGINE.window_records
    window_bytes: Count = _ENGINE.window_bytes
    order: Order = _ENGINE.order
    dedupe_window: Annotated[CountOrNone, Field(le=1_000_000)] = _ENGINE.dedupe_window
    recall_seconds: PositiveSeconds = _ENGINE.recall_seconds
    revoke_seconds: PositiveSeconds = _ENGINE.revoke_seconds
    max_crashes: CountOrNone = _ENGINE.max_crashes
