"""What an integration raises when its effect did not happen.

    Exception
    └── IntegrationError
        ├── AddressRefusedError       webhook: the receiver's name leads to an address that may not be called
        ├── AuditFileError            audit: the path is no audit file that may be written
        │   └── AuditFileLockedError  audit: another process writes it
        ├── NotOpenError              handle() outside `async with`
        ├── SecretFileError           a file that should hold a secret is empty
        └── WarehouseSchemaError      warehouse: the table exists with other columns

    HttpStatusError, ReceiverGoneError
    └── WebhookGoneError              webhook: the receiver answered 410, and wants no more requests

Whatever comes from below passes as it is: `OSError`, `sqlite3.Error`, httpx2's transport errors,
`hookline.contract.WebhookSecretError` for a secret that cannot be used, and `hookline.errs.HttpStatusError` for an
answer that is not 2xx. What any of them means is decided elsewhere.
"""

from __future__ import annotations

from hookline.errs import HttpStatusError
from hookline.hooks import ReceiverGoneError


class IntegrationError(Exception):
    """Base of what integrations raise themselves; unknown to every classifier, so permanent."""


class AddressRefusedError(IntegrationError):
    """Refuse to connect: every address of `host` is one that an event may not reach.

    Carries the host and, for each address, what it is; never the URL.
    """

    def __init__(self, host: str, reasons: dict[str, str]) -> None:
        found = ", ".join(f"{address} ({reason})" for address, reason in reasons.items())
        super().__init__(f"{host} leads only to addresses that may not be called: {found}")
        self.host = host
        self.reasons = reasons


class AuditFileError(IntegrationError):
    """Refuse the path: it is no regular file, or holds something other than audit lines."""


class AuditFileLockedError(AuditFileError):
    """Refuse a second writer: another process, or another hook, holds the file's lock."""


class NotOpenError(IntegrationError):
    """Report a `handle()` before the integration was entered or after it was left."""

    def __init__(self, hook: str) -> None:
        super().__init__(f"hook {hook} is not open: enter it with `async with` before its first event")


class SecretFileError(IntegrationError):
    """Report a file that should hold a secret and holds none; names the file."""


class WarehouseSchemaError(IntegrationError):
    """Report a table of the right name and the wrong columns."""


class WebhookGoneError(HttpStatusError, ReceiverGoneError):
    """Report `410 Gone`: the receiver wants no more requests, so that the hook is held until a person releases it."""
