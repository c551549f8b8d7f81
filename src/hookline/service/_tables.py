"""The tables of ``hookline.toml``: every key, its default and its bounds.

Keys that a later version brings are known here, so that they are refused by a sentence and never ignored.
"""

from __future__ import annotations

import re
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
from hookline.hooks import DEFAULT_TIMEOUT_SECONDS
from hookline.kafka import OWNED_KEYS
from hookline.service._listen import ListenAddress

LATER: dict[str, str] = {
    "start": "where a new group starts reading",
    "hooks.isolation": "isolation of one hook",
    "hooks.start": "where a new hook starts reading",
    "hooks.rate": "a limit of calls a second for one hook",
    "hooks.max_age_seconds": "an age limit for one hook",
    "hooks.retry": "a retry policy of one hook",
}

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_RETRY = RetryPolicy()
_ENGINE = EngineSettings()
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


def _import_path(text: str) -> str:
    if _IMPORT_PATH.fullmatch(text) is None:
        raise ValueError('must be "package.module:attribute"')
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error.msg}") from error
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
Text = Annotated[str, StringConstraints(min_length=1)]
Url = Annotated[str, AfterValidator(_url), Field(repr=False)]
ImportPath = Annotated[str, AfterValidator(_import_path)]
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
    control: Name | Literal[""] | None = None
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
    timeout_seconds: PositiveSeconds = DEFAULT_TIMEOUT_SECONDS
    concurrency: Count | None = None

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
