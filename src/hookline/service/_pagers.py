"""Makes the pagers that settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.deadletters import AlertmanagerPager, Receiver, WebhookPager

if TYPE_CHECKING:
    import httpx2

    from hookline.deadletters import Pager
    from hookline.service._settings import Settings
    from hookline.service._tables import AlertmanagerPagerTable, WebhookPagerTable


def build_pagers(settings: Settings, client: httpx2.AsyncClient) -> list[Pager]:
    """Make the pagers on one HTTP client, which stays the caller's. Raises SettingsError for a secret that cannot be used."""
    return [_build(settings, index, client) for index in range(len(settings.pagers))]


def _build(settings: Settings, index: int, client: httpx2.AsyncClient) -> Pager:
    table = settings.pagers[index]
    receiver = _receiver(table, client)
    if table.kind == "webhook":
        return WebhookPager(receiver, keys=settings.pager_keys(index))
    return AlertmanagerPager(receiver, labels=table.labels, severity=table.severity, keep_seconds=table.keep_seconds)


def _receiver(table: WebhookPagerTable | AlertmanagerPagerTable, client: httpx2.AsyncClient) -> Receiver:
    return Receiver(table.name, table.url, client, headers=table.headers, timeout_seconds=table.timeout_seconds)
