"""Running one wired hook once, for a person who wants to see how it fares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errs import DEFAULT_CLASSIFIERS
from hookline.hooks import InvalidHookError, Trials, hooks_of
from hookline.kafka import Record, kafka_classifier
from hookline.service._hooks import hooks_from_app, resolver_of, rule_of
from hookline.service._problems import Problem, SettingsError, nearest

if TYPE_CHECKING:
    from hookline.contract import Event
    from hookline.hooks import Resolver, Trial
    from hookline.service._settings import Settings


async def try_hook(settings: Settings, name: str, event: Event) -> Trial:
    """Make the hook of this name as a service would, enter it, run it once with the event, and leave it.

    What the hook does is real. Other hooks of the file are not made; the application is imported only when the file has no
    hook of this name. On the event loop. Raises `SettingsError` when the hook cannot be made or there is none.
    """
    resolver, known = _resolver_with(settings, name)
    policy = settings.stage_policy((*DEFAULT_CLASSIFIERS, kafka_classifier))
    trials = Trials(policy, Record(settings.hook_topic(), 0, 0, None, None, None))
    try:
        return await trials.try_hook(name, resolver, event, known)
    except LookupError:
        raise _no_hook(settings, name, known) from None


def _resolver_with(settings: Settings, name: str) -> tuple[Resolver, list[str]]:
    names = [table.name for table in settings.hooks]
    if name in names:
        return resolver_of([rule_of(settings, names.index(name))]), names
    resolver = hooks_from_app(settings)
    if resolver is None:
        raise _no_hook(settings, name, names)
    try:
        return resolver, [*names, *(hook.name for hook in hooks_of(resolver))]
    except InvalidHookError as error:
        raise SettingsError([Problem(f'app: "{settings.app}": {error}', settings.place("app"))]) from error


def _no_hook(settings: Settings, name: str, known: list[str]) -> SettingsError:
    return SettingsError([Problem(f'there is no hook "{name}"', settings.place("hooks"), nearest(name, known))])
