"""Hooks that ship: noop, log, audit, warehouse, webhook; and what people need who bring kinds of their own.

Each is a class with a `kind`, a pydantic model `Options` of its keys in `[[hooks]]`, `handle(event)`, and, where it holds
something open, an async context manager. They act once for each (source, id), raise when their effect did not happen,
and know nothing of offsets or retries. A plug-in brings a `HookKind`, and may use `SecretFile` and `NotOpenError`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol

from hookline.integrations._audit import Audit, AuditOptions
from hookline.integrations._errors import (
    AddressRefusedError,
    AuditFileError,
    AuditFileLockedError,
    IntegrationError,
    NotOpenError,
    SecretFileError,
    WarehouseSchemaError,
)
from hookline.integrations._kinds import HookKind
from hookline.integrations._log import Log, LogOptions
from hookline.integrations._noop import Noop, NoopOptions
from hookline.integrations._secret_file import SecretFile
from hookline.integrations._warehouse import Warehouse, WarehouseOptions
from hookline.integrations._webhook import Webhook, WebhookOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from hookline.contract import Event

__all__ = [
    "KINDS",
    "AddressRefusedError",
    "Audit",
    "AuditFileError",
    "AuditFileLockedError",
    "AuditOptions",
    "HookKind",
    "Integration",
    "IntegrationError",
    "Log",
    "LogOptions",
    "Noop",
    "NoopOptions",
    "NotOpenError",
    "SecretFile",
    "SecretFileError",
    "Warehouse",
    "WarehouseOptions",
    "WarehouseSchemaError",
    "Webhook",
    "WebhookOptions",
]


class Integration(Protocol):
    """What every hook that ships looks like."""

    kind: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    name: str

    def __init__(self, name: str, options: BaseModel) -> None:
        """Take the hook's name and an instance of its own `Options`."""

    async def handle(self, event: Event) -> None:
        """Do it; returning means done, raising that the effect did not happen."""


KINDS: Mapping[str, type[Integration]] = MappingProxyType(
    {integration.kind: integration for integration in (Noop, Log, Audit, Warehouse, Webhook)}
)
