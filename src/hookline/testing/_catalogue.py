"""What a domain declares of its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

FieldKind: TypeAlias = Literal["string", "number", "boolean", "list", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """One type of event of one source.

    `subject` names the field of the payload that holds the subject's id. `versioned` says whether a versioned write
    stands behind the event, so that its id is minted from the version. `payload` are the fields that are always there,
    `optional` those that may be.
    """

    source: str
    type: str
    subject: str
    versioned: bool
    payload: Mapping[str, FieldKind]
    optional: Mapping[str, FieldKind] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def fields(self) -> dict[str, FieldKind]:
        """All fields that the payload may have."""
        return {**self.payload, **self.optional}

    def __str__(self) -> str:
        return f"{self.source} {self.type}"
