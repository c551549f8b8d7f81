"""Errors of the wire contract.

::

    Exception
    └── ContractError             anything that breaks the contract
        ├── InvalidEventError     what a publisher built cannot go on the wire   (also a ValueError)
        ├── InvalidGateError      what is no gate, read or to be written         (also a ValueError)
        ├── MalformedRecordError  what a consumer read is no event; carries a stable code
        └── WebhookSecretError    a secret that webhooks cannot be signed with           (also a ValueError)
"""

from __future__ import annotations

__all__ = ["ContractError", "InvalidEventError", "InvalidGateError", "MalformedRecordError", "WebhookSecretError"]


class ContractError(Exception):
    """Anything that breaks the wire contract."""


class InvalidEventError(ContractError, ValueError):
    """An event that must not be published, or cannot be built.

    `field` names the part of the event that is wrong (`payload.steps[0].id` for one inside the payload). The
    text never repeats the offending value.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        """Return one line: which field, and why."""
        return f"{self.field}: {self.reason}"


class InvalidGateError(ContractError, ValueError):
    """A gate that cannot be written, or a record of the control topic that names none; the text never repeats its bytes."""


class MalformedRecordError(ContractError):
    """A record that is no event, for good: retrying cannot help.

    `code` is one of the stable snake_case codes of docs/wire.md; `reason` is one line for people and never
    repeats the record's bytes.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        """Return one line: the code, and why."""
        return f"{self.code}: {self.reason}"


class WebhookSecretError(ContractError, ValueError):
    """A signing secret that cannot be used; the text never holds the secret."""
