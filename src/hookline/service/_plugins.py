"""The kinds of hooks there are: those that ship, and those that installed distributions bring by entry points.

    Exception
    └── KindRefusedError      a kind cannot be used, and why

A plug-in that is broken harms nobody but who uses it: nothing of it is imported before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel

from hookline.integrations import KINDS
from hookline.service._imports import told
from hookline.service._tables import HookTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from hookline.errs import Redactor
    from hookline.integrations import HookKind

GROUP: Final = "hookline.hooks"
SHIPPED: Final = "hookline"


class KindRefusedError(Exception):
    """A kind of hooks cannot be used; the text says why, on one line and without secrets."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind that a distribution offers. ``refusal`` is not empty when nobody may use it, whatever it is."""

    kind: str
    distribution: str
    version: str | None
    find: Callable[[], object]
    refusal: str = ""

    @property
    def ships(self) -> bool:
        """Whether it is one of ours."""
        return self.distribution == SHIPPED

    def load(self, redactor: Redactor) -> HookKind:
        """Import the kind and look at it. Raises `KindRefusedError`, whatever the plug-in raises while it is imported."""
        if self.refusal:
            raise KindRefusedError(self.refusal)
        try:
            found = self.find()
        except (Exception, SystemExit) as error:
            raise KindRefusedError(f"it cannot be imported: {told(error, redactor)}") from error
        if not self.ships:
            self._require(found, redactor)
        return cast("HookKind", found)

    def _require(self, found: object, redactor: Redactor) -> None:
        try:
            fault = _fault(found, self.kind)
        except Exception as error:
            raise KindRefusedError(f"it cannot be looked at: {told(error, redactor)}") from error
        if fault:
            raise KindRefusedError(fault)


def offers() -> list[Offer]:
    """List every kind that is offered, those that ship first; imports no plug-in."""
    return [*map(_shipped, KINDS), *_plugins()]


def offer_of(kind: str) -> Offer | None:
    """Find who offers a kind: one that ships before any other; None when nobody does."""
    return _shipped(kind) if kind in KINDS else next((offer for offer in _plugins() if offer.kind == kind), None)


def known_kinds() -> list[str]:
    """Name the kinds that are offered."""
    return sorted({offer.kind for offer in offers()})


def _shipped(kind: str) -> Offer:
    return Offer(kind, SHIPPED, _version(), partial(KINDS.__getitem__, kind))


def _plugins() -> list[Offer]:
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _release(point)[0]))
    by_name: dict[str, list[str]] = {}
    for point in points:
        by_name.setdefault(point.name, []).append(_release(point)[0])
    return [
        Offer(point.name, *_release(point), point.load, _clash(point.name, by_name[point.name])) for point in points
    ]


def _clash(kind: str, distributions: list[str]) -> str:
    if kind in KINDS:
        return f'the kind "{kind}" ships with hookline; give the entry point another name'
    if len(distributions) > 1:
        return f'several offer the kind "{kind}": {", ".join(distributions)}; uninstall all but one'
    return ""


def _release(point: EntryPoint) -> tuple[str, str | None]:
    """Tell the distribution of an entry point and its version, as far as its metadata can be read."""
    distribution: Any = point.dist
    try:
        return str(distribution.name), str(distribution.version)
    except Exception:  # noqa: BLE001 - what a distribution says of itself may be broken, and stops no other
        return "unknown", None


def _version() -> str | None:
    try:
        return version(SHIPPED)
    except PackageNotFoundError:
        return None


def _fault(found: Any, kind: str) -> str:
    """Say what is wrong with what an entry point names; empty when it is a `HookKind`."""
    what = f"the class {found.__name__}" if isinstance(found, type) else f"an object of {type(found).__name__}"
    if getattr(found, "kind", None) != kind:
        return f'{what} has no kind = "{kind}": it is the entry point\'s name'
    model = getattr(found, "Options", None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return f"{what} has no Options: a pydantic model of its keys"
    if not callable(found):
        return f"{what} cannot be called with a name and options"
    taken = sorted(_keys(model) & set(HookTable.model_fields))
    if taken:
        return f"{what} has options that every hook has: {', '.join(taken)}; give them other names"
    return ""


def _keys(model: type[BaseModel]) -> set[str]:
    return {name for field, info in model.model_fields.items() for name in (field, info.alias) if name}
