"""Which hooks are wired and which kinds there are, with where each comes from and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import TYPE_CHECKING

from hookline.hooks import InvalidHookError, hooks_of
from hookline.service._hooks import build_hooks, hooks_from_app, rule_of
from hookline.service._plugins import KindRefusedError, offer_of, offers
from hookline.service._problems import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import JsonValue
    from hookline.errs import Redactor
    from hookline.service._plugins import Offer
    from hookline.service._settings import Settings


class Origin(StrEnum):
    """Who brings a hook."""

    SHIPPED = "shipped"
    PLUGIN = "plugin"
    APP = "app"


@dataclass(frozen=True, slots=True)
class HookRow:
    """A hook that is wired or, without a name, a kind that no hook uses.

    `made_of` is the dotted class; it, distribution and version are None where nobody can tell. ``types`` and `sources` are
    None for hooks from code, which say themselves what they want. ``error`` is empty when all is well.
    """

    name: str | None
    kind: str | None
    made_of: str | None
    origin: Origin | None
    distribution: str | None = None
    version: str | None = None
    types: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    when: str | None = None
    error: str = ""

    @property
    def is_wired(self) -> bool:
        """Whether it is about a hook, or about how hooks are wired, and not about a kind that no hook uses."""
        return self.name is not None or self.kind is None

    def document(self) -> dict[str, JsonValue]:
        """Return the row as JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "class": self.made_of,
            "origin": None if self.origin is None else str(self.origin),
            "distribution": self.distribution,
            "version": self.version,
            "types": None if self.types is None else list(self.types),
            "sources": None if self.sources is None else list(self.sources),
            "when": self.when,
            "error": self.error or None,
        }


def list_hooks(settings: Settings, *, unused_kinds: bool = False) -> list[HookRow]:
    """List the hooks of ``[[hooks]]``, those that `app` lists, and the plug-ins that are broken.

    With `unused_kinds` every kind that no hook uses too. Imports the application and every plug-in; enters no hook and
    raises nothing: what is wrong stands in the row that it is about.
    """
    hooks = [*(_of_file(settings, index) for index in range(len(settings.hooks))), *_of_app(settings)]
    used = {table.kind for table in settings.hooks}
    kinds = [_of_kind(offer, settings.redactor()) for offer in offers()]
    rest = [row for row in kinds if row.error or (unused_kinds and row.kind not in used)]
    return [*hooks, *_of_wiring(settings, hooks), *rest]


def _of_file(settings: Settings, index: int) -> HookRow:
    table = settings.hooks[index]
    offer = offer_of(table.kind)
    made_of, error = _made_of(lambda: type(rule_of(settings, index).hook))
    return HookRow(
        table.name,
        table.kind,
        made_of,
        None if offer is None else _origin(offer),
        None if offer is None else offer.distribution,
        None if offer is None else offer.version,
        tuple(table.types),
        tuple(table.sources),
        table.when,
        error,
    )


def _of_app(settings: Settings) -> list[HookRow]:
    def find() -> list[HookRow]:
        resolver = hooks_from_app(settings)
        hooks = () if resolver is None else hooks_of(resolver)
        return [HookRow(hook.name, None, _path(type(hook)), Origin.APP, *_release(type(hook))) for hook in hooks]

    try:
        return find()
    except (SettingsError, InvalidHookError) as error:
        return [HookRow(None, None, settings.app, Origin.APP, error=_line(error))]


def _of_wiring(settings: Settings, hooks: list[HookRow]) -> list[HookRow]:
    """Say what is wrong with hooks of file and code together, such as a name that both have."""
    if any(row.error for row in hooks):
        return []
    try:
        build_hooks(settings)
    except SettingsError as error:
        return [HookRow(None, None, None, None, error=_line(error))]
    return []


def _of_kind(offer: Offer, redactor: Redactor) -> HookRow:
    try:
        found = offer.load(redactor)
    except KindRefusedError as error:
        return HookRow(None, offer.kind, None, _origin(offer), offer.distribution, offer.version, error=str(error))
    made_of = _path(found if isinstance(found, type) else type(found))
    return HookRow(None, offer.kind, made_of, _origin(offer), offer.distribution, offer.version)


def _made_of(make: Callable[[], type]) -> tuple[str | None, str]:
    try:
        return _path(make()), ""
    except SettingsError as error:
        return None, _line(error)


def _origin(offer: Offer) -> Origin:
    return Origin.SHIPPED if offer.ships else Origin.PLUGIN


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _release(kind: type) -> tuple[str | None, str | None]:
    """Tell the distribution that a class comes from, and its version; None when it is in none, such as a module beside the settings."""
    names = packages_distributions().get(kind.__module__.partition(".")[0])
    if not names:
        return None, None
    try:
        return names[0], version(names[0])
    except PackageNotFoundError:
        return names[0], None


def _line(error: Exception) -> str:
    if isinstance(error, SettingsError):
        return "; ".join(f"{each.what}; {each.fix}" if each.fix else each.what for each in error.problems)
    return str(error)
