"""The settings of one service, read from a file and the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import PrivateAttr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from hookline.consume import RetryPolicy
from hookline.errs import Redactor
from hookline.hooks import BreakerPolicy, GuardPolicy, HookPolicy, StagePolicy
from hookline.kafka import ClientConfig, InvalidClientConfigError, RefusedKeyError
from hookline.service._imports import import_object
from hookline.service._option_secrets import secret_file_texts, secret_places, unjudged_places
from hookline.service._problems import Problem, SettingsError
from hookline.service._secrets import redacted, secret_texts, signing_keys
from hookline.service._sources import Location, dotted, place_of, spoken
from hookline.service._tables import (
    BreakerTable,
    ConsumeTable,
    DeadLettersTable,
    GroupsTable,
    GuardTable,
    HookTable,
    HttpTable,
    ImportPath,
    KafkaTable,
    LogTable,
    Name,
    Pager,
    PositiveSeconds,
    RetryTable,
    Seconds,
    Start,
    TopicsTable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.errs import Classifier
    from hookline.kafka import OAuth

_LONGEST_TOPIC = 249
_CONTROL_TOPIC = "hookline-control"
_BOOTSTRAP = frozenset({"bootstrap.servers", "metadata.broker.list"})


class Settings(BaseSettings):
    """Everything that can be set: one immutable value, from `load_settings` or made in code.

    Made in code it reads neither files nor the environment. ``repr()`` shows no option that may be a secret.
    """

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False, env_prefix="HOOKLINE_"
    )

    domain: Name
    app: ImportPath | None = None
    isolation: Literal["shared", "per-hook"] = "shared"
    start: Start | None = None
    drain_seconds: Seconds = 20.0
    stuck_seconds: PositiveSeconds = 300.0
    kafka: KafkaTable = KafkaTable()
    topics: TopicsTable = TopicsTable()
    groups: GroupsTable = GroupsTable()
    retry: RetryTable = RetryTable()
    breaker: BreakerTable = BreakerTable()
    guard: GuardTable = GuardTable()
    http: HttpTable = HttpTable()
    hooks: list[HookTable] = []
    dead_letters: DeadLettersTable = DeadLettersTable()
    pagers: list[Pager] = []
    log: LogTable = LogTable()
    consume: ConsumeTable = ConsumeTable()

    _folder: Path = PrivateAttr(default_factory=Path)
    _origins: dict[Location, str] = PrivateAttr(default_factory=dict)
    _from_files: frozenset[Location] = PrivateAttr(default=frozenset())
    _home: str = PrivateAttr(default="settings")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keep the constructor pure: only `load_settings` looks outside."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @model_validator(mode="after")
    def _names_apart(self) -> Settings:
        topics = self.hook_topic(), self.dead_letter_topic()
        if any(len(topic) > _LONGEST_TOPIC for topic in topics):
            raise ValueError(f"a topic name is longer than {_LONGEST_TOPIC} characters, shorten the domain")
        # The broker refuses two names that differ only in these, because its metrics cannot tell them apart.
        if len({topic.replace(".", "_") for topic in topics}) < len(topics):
            raise ValueError(
                f'hook topic and dead-letter topic are the same, "{topics[0]}": dead letters would feed themselves'
            )
        if self.hook_group() == self.dead_letter_group():
            raise ValueError(
                f'stage and reconciler have the same consumer group, "{self.hook_group()}": each needs its own'
            )
        return self

    @model_validator(mode="after")
    def _control_apart(self) -> Settings:
        control, others = self.control_topic(), (self.hook_topic(), self.dead_letter_topic())
        if control is not None and control.replace(".", "_") in {topic.replace(".", "_") for topic in others}:
            raise ValueError(f'the control topic, "{control}", is that of events or dead letters: it is compacted')
        return self

    @model_validator(mode="after")
    def _names_unique(self) -> Settings:
        for kind, names in (("hooks", [hook.name for hook in self.hooks]), ("pagers", [p.name for p in self.pagers])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"two {kind} are named {', '.join(twice)}: give each a name of its own")
        return self

    def loaded_from(
        self, folder: Path, origins: Mapping[Location, str], from_files: frozenset[Location], home: str
    ) -> Settings:
        """Return the same settings that know where they were read from; `home` is where one that is missing belongs."""
        copy = self.model_copy()
        copy._folder, copy._origins, copy._from_files = folder, dict(origins), from_files  # noqa: SLF001 - a copy of itself
        copy._home = home  # noqa: SLF001 - the same
        return copy

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from: that of the settings file, else the working directory."""
        return self._folder

    def path(self, relative: Path | str) -> Path:
        """Resolve a path from the settings against `folder`."""
        return self._folder / relative

    def hook_topic(self) -> str:
        """Name the topic that events are read from."""
        return self.topics.hook or f"{self.domain}-hook"

    def dead_letter_topic(self) -> str:
        """Name the topic that dead letters are written to."""
        return self.topics.dead_letters or f"{self.domain}-hook_dlq"

    def control_topic(self) -> str | None:
        """Name the topic on which domains, hooks and subjects are closed; None when there is none."""
        return (_CONTROL_TOPIC if self.topics.control is None else self.topics.control) or None

    def hook_group(self) -> str:
        """Name the stage's consumer group."""
        return self.groups.hook or f"{self.domain}-hook"

    def dead_letter_group(self) -> str:
        """Name the reconciler's consumer group."""
        return self.groups.dead_letters or f"{self.domain}-hook-dlq"

    def client_config(self) -> ClientConfig:
        """Make the options of every Kafka client.

        Imports ``kafka.oauth``. Raises `SettingsError` when that fails, when no broker is named, and for options that
        cannot work together.
        """
        if not self.names_brokers():
            what = 'kafka.common."bootstrap.servers" is missing: no Kafka broker is named'
            fix = """set it in [kafka.common], or HOOKLINE_KAFKA__COMMON='{"bootstrap.servers": "host:9092"}'"""
            raise SettingsError([Problem(what, self.place("kafka", "common"), fix)])
        try:
            return ClientConfig(
                common=self.kafka.common,
                consumer=self.kafka.consumer,
                producer=self.kafka.producer,
                admin=self.kafka.admin,
                oauth=self._oauth(),
                origin=self._brokers_origin(),
            )
        except (RefusedKeyError, InvalidClientConfigError) as error:
            raise SettingsError([Problem(f"kafka: {error}", self.place("kafka"))]) from error

    def names_brokers(self) -> bool:
        """Whether the settings say where Kafka is."""
        return any(self.kafka.common.get(key) for key in _BOOTSTRAP)

    def import_folders(self) -> tuple[Path, ...]:
        """List the folders whose modules the settings may name: the working directory and that of the file."""
        return Path.cwd(), self._folder

    def stage_policy(self, classifiers: Sequence[Classifier]) -> StagePolicy:
        """Return how a stage treats its hooks; what their own code says counts where the file says nothing."""
        return StagePolicy(
            retry=RetryPolicy(**self.retry.model_dump()),
            classifiers=classifiers,
            redactor=self.redactor(),
            hooks={hook.name: self._hook_policy(hook) for hook in self.hooks},
            breaker=BreakerPolicy(**self.breaker.model_dump(exclude={"page_after_seconds"})),
            guard=GuardPolicy(**self.guard.model_dump()),
        )

    def _hook_policy(self, hook: HookTable) -> HookPolicy:
        retry = None if hook.retry is None else RetryPolicy(**hook.retry.over(self.retry).model_dump())
        return HookPolicy(
            retry=retry,
            timeout_seconds=hook.timeout_seconds,
            concurrency=hook.concurrency,
            rate=hook.rate,
            max_age_seconds=hook.max_age_seconds,
        )

    @model_validator(mode="after")
    def _retries_in_order(self) -> Settings:
        for hook in self.hooks:
            try:
                _ = hook.retry and hook.retry.over(self.retry)
            except ValueError as error:
                raise ValueError(f'hook "{hook.name}": retry: max_seconds is less than initial_seconds') from error
        return self

    def pager_keys(self, index: int) -> tuple[bytes, ...]:
        """Read the keys that one pager signs with, the newest first; none when it has no ``secret_file``.

        Raises `SettingsError` when a file cannot be read, is empty or holds a line that is no secret.
        """
        pager = self.pagers[index]
        files = pager.secret_file if pager.kind == "webhook" else ()
        location = ("pagers", index, "secret_file")
        key, where = spoken(location, self.names()), self.place(*location)
        return tuple(found for file in files for found in signing_keys(self.path(file), key, where))

    def with_bootstrap(self, servers: str) -> Settings:
        """Return the same settings for other brokers; what names brokers in the other Kafka tables is dropped."""
        bare = {
            table: {key: value for key, value in options.items() if key not in _BOOTSTRAP}
            for table, options in self.kafka.tables().items()
        }
        bare["common"]["bootstrap.servers"] = servers
        copy = self.model_copy(update={"kafka": self.kafka.model_copy(update=bare)})
        copy._origins = {key: place for key, place in self._origins.items() if not _names_brokers(key)}  # noqa: SLF001 - a copy of itself
        return copy

    def for_embedded(self, servers: str) -> Settings:
        """Return the same settings for an embedded broker: it knows no security, and the new group protocol joins at once."""
        there = self.with_bootstrap(servers)
        plain = {table: _without_security(options) for table, options in there.kafka.tables().items()}
        plain["consumer"].setdefault("group.protocol", "consumer")
        return there.model_copy(update={"kafka": there.kafka.model_copy(update={**plain, "oauth": None})})

    def _oauth(self) -> OAuth | None:
        if self.kafka.oauth is None:
            return None
        where = self.place("kafka", "oauth")
        found = import_object(
            self.kafka.oauth,
            key="kafka.oauth",
            where=where,
            folders=self.import_folders(),
            redactor=self.redactor(),
        )
        if not callable(found):
            what = f'kafka.oauth: "{self.kafka.oauth}" is not callable'
            raise SettingsError([Problem(what, where, "name a function that returns a token and its expiry")])
        return cast("OAuth", found)

    def origin(self, *location: str | int) -> str:
        """Name where a value was read from: the file's path, a variable's name, or ``default``."""
        return place_of(self._origins, location) or "default"

    def place(self, *location: str | int) -> str:
        """Name where a person would mend a value: where it was read from, else the settings file."""
        return place_of(self._origins, location) or self._home

    def _brokers_origin(self) -> str:
        places = (self._origins.get(("kafka", "common", key)) for key in sorted(_BOOTSTRAP))
        return next((place for place in places if place), "")

    def origins(self) -> dict[str, str]:
        """Name for every value that was set, by its dotted key, where it was read from."""
        return {dotted(location): place for location, place in self._origins.items()}

    def redacted(self) -> dict[str, Any]:
        """Return all settings as plain tables and lists, fit for JSON, with every secret masked."""
        secret = self._from_files | secret_places(self.hooks) | unjudged_places(self.hooks)
        shown = redacted(self.model_dump(mode="json"), secret)
        assert isinstance(shown, dict)  # noqa: S101 - a table stays a table
        return shown

    def secret_texts(self) -> frozenset[str]:
        """Return the texts that must never be shown, for a redactor of logs."""
        known = secret_texts(self.model_dump(mode="json"), self._from_files | secret_places(self.hooks))
        return frozenset(known).union(secret_file_texts(self.hooks, self._folder))

    def names(self) -> dict[str, Any]:
        """Return the names of hooks and pagers, in the shape of the tables that they stand in."""
        return {
            "hooks": [{"name": hook.name} for hook in self.hooks],
            "pagers": [{"name": p.name} for p in self.pagers],
        }

    def redactor(self) -> Redactor:
        """Make what keeps secrets out of texts: the patterns that settings name, and every secret that they hold."""
        return Redactor(patterns=self.log.redact, secrets=self.secret_texts())

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Show which service this is, and no option of it."""
        return [("domain", self.domain), ("hooks", [hook.name for hook in self.hooks])]


def _names_brokers(location: Location) -> bool:
    return location[0] == "kafka" and location[-1] in _BOOTSTRAP


def _without_security(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if not key.startswith(("security.", "sasl.", "ssl."))}
