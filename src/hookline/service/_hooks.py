"""Makes the hooks that settings name: those of the file, and those of the application's own code."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from hookline.errs import Redactor, location
from hookline.hooks import Condition, DuplicateHookError, Hooks, InvalidHookError, MergedHooks, Rule, RuledHooks
from hookline.service._explain import explain
from hookline.service._imports import import_object, told
from hookline.service._plugins import KindRefusedError, known_kinds, offer_of
from hookline.service._problems import Problem, SettingsError, nearest
from hookline.service._sources import spoken
from hookline.service._tables import LATER, HookTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.hooks import Hook, Resolver
    from hookline.integrations import HookKind
    from hookline.service._settings import Settings
    from hookline.service._sources import Location

Made = TypeVar("Made")

# Their texts name classes, hooks and patterns, and no value that could be a secret.
_WIRING_ERRORS = (InvalidHookError, DuplicateHookError)
_SQLITE = "sqlite:///"  # what follows is a path, an absolute one with a slash of its own


def build_hooks(settings: Settings) -> Resolver:
    """Make the hooks of ``[[hooks]]`` and of ``app``, and join them.

    Imports the application; enters no hook. Raises `SettingsError` with every hook that cannot be made, an unknown kind, an
    option that its kind refuses, an application that cannot be imported, what cannot be a hook, and names that are used
    twice.
    """
    problems: list[Problem] = []
    ours = _gather(lambda: hooks_from_file(settings), problems)
    theirs = _gather(lambda: hooks_from_app(settings), problems)
    if problems:
        raise SettingsError(problems)
    resolvers = [resolver for resolver in (ours, theirs) if resolver is not None]
    try:
        merged = MergedHooks(*resolvers)
    except InvalidHookError as error:
        raise _miswired(settings, error) from error
    except DuplicateHookError as error:
        where = settings.place("hooks")
        raise SettingsError([Problem(f"app and [[hooks]]: {error}", where)]) from error
    return resolvers[0] if len(resolvers) == 1 else merged


def hooks_from_file(settings: Settings) -> Hooks | RuledHooks | None:
    """Make the hooks of ``[[hooks]]``; None when there are none."""
    problems: list[Problem] = []
    made = [_gather(partial(rule_of, settings, index), problems) for index in range(len(settings.hooks))]
    if problems:
        raise SettingsError(problems)
    rules = [rule for rule in made if rule is not None]
    return resolver_of(rules) if rules else None


def resolver_of(rules: Sequence[Rule]) -> Hooks | RuledHooks:
    """Make the resolver of rules, the plainest that they allow."""
    if any(rule.when is not None or "*" not in rule.sources for rule in rules):
        return RuledHooks(rules)
    patterns: dict[str, list[Hook]] = {}
    for rule in rules:
        for pattern in dict.fromkeys(rule.types):
            patterns.setdefault(pattern, []).append(rule.hook)
    return Hooks(patterns)


def rule_of(settings: Settings, index: int) -> Rule:
    """Make one of the hooks of ``[[hooks]]`` and tell which events it wants. Raises `SettingsError`."""
    table = settings.hooks[index]
    when = None if table.when is None else Condition(table.when)
    return Rule(_make(settings, index, table), table.types, table.sources, when)


def problems_of_kinds(values: Mapping[str, Any], place: Callable[[Location], str], folder: Path) -> list[Problem]:
    """List what the kinds of hooks have against settings that are refused anyway, so that all is told at once."""
    problems: list[Problem] = []
    tables = values.get("hooks")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(table, dict) and isinstance(table.get("kind"), str):
            row = _Row(index, place(("hooks", index)), folder, values, Redactor())
            _gather(partial(_judge_options, row, table["kind"], _own_keys(table)), problems)
    return problems


def _judge_options(row: _Row, kind: str, options: dict[str, Any]) -> None:
    _options_of(row, _kind_of(row, kind), options)


def _own_keys(table: dict[str, Any]) -> dict[str, Any]:
    ours = HookTable.model_fields
    return {key: value for key, value in table.items() if key not in ours and f"hooks.{key}" not in LATER}


def hooks_from_app(settings: Settings) -> Resolver | None:
    """Import ``app`` and, when it is a factory, call it with the settings; None when there is no ``app``."""
    if settings.app is None:
        return None
    where = settings.place("app")
    found = _imported(settings, settings.app, where)
    if isinstance(found, type) or not _is_resolver(found):
        found = _called(found, settings, where)
    if not _is_resolver(found):
        what = f'app: "{settings.app}" is of type {type(found).__name__}: no Hooks, and nothing with for_event(event)'
        raise SettingsError(
            [Problem(what, where, "name a Hooks, or a function that takes the settings and returns one")]
        )
    return found


def _imported(settings: Settings, app: str, where: str) -> object:
    try:
        folders, redactor = settings.import_folders(), settings.redactor()
        return import_object(app, key="app", where=where, folders=folders, redactor=redactor)
    except SettingsError as error:
        if isinstance(error.__cause__, _WIRING_ERRORS):
            raise _miswired(settings, error.__cause__) from error.__cause__
        raise


def _miswired(settings: Settings, error: Exception) -> SettingsError:
    """Say what the application's code gives as a hook, and where it does."""
    place = location(error, redactor=settings.redactor())
    return SettingsError(
        [Problem(f'app: "{settings.app}": {error}', settings.place("app"), f"see {place}" if place else "")]
    )


def _is_resolver(found: object) -> TypeGuard[Resolver]:
    return callable(getattr(found, "for_event", None))


def _called(factory: object, settings: Settings, where: str) -> object:
    if not callable(factory):
        return factory
    try:
        made = factory(settings)
    except SettingsError:
        raise
    except _WIRING_ERRORS as error:
        raise _miswired(settings, error) from error
    except (Exception, SystemExit) as error:
        what = f'app: "{settings.app}" failed: {told(error, settings.redactor())}'
        raise SettingsError([Problem(what, where)]) from error
    if inspect.iscoroutine(made):
        made.close()
        what = f'app: "{settings.app}" is an async function'
        raise SettingsError([Problem(what, where, "make it a plain one; a hook may open what it needs in __aenter__")])
    return made


@dataclass(frozen=True, slots=True)
class _Row:
    """One of ``[[hooks]]``: its number in `tables`, where it stands, and the folder that its paths start from."""

    index: int
    where: str
    folder: Path
    tables: Mapping[str, Any]
    redactor: Redactor

    def refused(self, what: str, fix: str = "") -> SettingsError:
        """Say of this hook what is wrong with it."""
        return SettingsError([Problem(f"{spoken(('hooks', self.index), self.tables)}: {what}", self.where, fix)])


def _make(settings: Settings, index: int, table: HookTable) -> Hook:
    row = _Row(index, settings.place("hooks", index), settings.folder, settings.names(), settings.redactor())
    kind = _kind_of(row, table.kind)
    options = _options_of(row, kind, table.options)
    try:
        hook = kind(table.name, options)
    except (Exception, SystemExit) as error:
        raise row.refused(f"cannot be made: {told(error, row.redactor)}") from error
    _require_hook(row, table, hook)
    return hook


def _require_hook(row: _Row, table: HookTable, made: Hook) -> None:
    try:
        Hooks({"*": [made]})
    except InvalidHookError as error:
        raise row.refused(f'its kind "{table.kind}" makes no hook: {error}') from error
    if made.name != table.name:
        raise row.refused(f'its kind "{table.kind}" gives it another name: {made.name}')


def _kind_of(row: _Row, name: str) -> HookKind:
    """Find a kind, and import it when a plug-in brings it. Raises `SettingsError`."""
    offer = offer_of(name)
    if offer is None:
        raise row.refused(f'there is no kind "{name}"', nearest(name, known_kinds()))
    try:
        return offer.load(row.redactor)
    except KindRefusedError as error:
        raise row.refused(f'kind "{name}" of {offer.distribution} cannot be used: {error}') from error


def _options_of(row: _Row, kind: HookKind, given: dict[str, Any]) -> BaseModel:
    """Check a hook's own keys by its kind. Raises `SettingsError`."""
    model = kind.Options
    _refuse_unknown(row, model, given)
    try:
        return model.model_validate(_with_paths(given, model, row.folder))
    except ValidationError as error:
        under: Location = ("hooks", row.index)
        problems = explain(error, model, lambda _: row.where, under=under, tables=row.tables)
        raise SettingsError(replace(each, what=row.redactor.redact(each.what)) for each in problems) from None
    except Exception as error:
        raise row.refused(f"its options cannot be checked: {told(error, row.redactor)}") from error


def _refuse_unknown(row: _Row, model: type[BaseModel], given: dict[str, Any]) -> None:
    """Raise `SettingsError` for keys that a model would ignore, as pydantic's do unless they are told otherwise."""
    known = {name for field, info in model.model_fields.items() for name in (field, info.alias) if name}
    unknown = [key for key in given if key not in known]
    if unknown and model.model_config.get("extra", "ignore") == "ignore":
        raise row.refused(f"unknown key {unknown[0]}", nearest(unknown[0], known))


def _with_paths(options: dict[str, Any], model: type[BaseModel], folder: Path) -> dict[str, Any]:
    """Let the options that are paths start from the folder of the settings file."""
    paths = {name for name, field in model.model_fields.items() if _holds_path(field.annotation)}
    return {
        key: _placed(value, folder) if key in paths else _placed_database(value, folder)
        for key, value in options.items()
    }


def _holds_path(annotation: Any) -> bool:
    return annotation is Path or any(map(_holds_path, get_args(annotation)))


def _placed(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_placed(member, folder) for member in value]
    return str(folder / value) if isinstance(value, str) and value else value


def _placed_database(value: Any, folder: Path) -> Any:
    if not isinstance(value, str) or not value.startswith(_SQLITE) or value == _SQLITE:
        return value
    return f"{_SQLITE}{folder / value.removeprefix(_SQLITE)}"


def _gather(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    try:
        return make()
    except SettingsError as error:
        problems.extend(error.problems)
        return None
