"""The body of a scrape, whatever state the metrics are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.registry import Collector

_UNREADABLE: Final = b"# a metric could not be read and is left out\n"


def expose(registry: Collector, own: Iterable[Collector], accept: str) -> tuple[bytes, str]:
    """Return the body and content type of a scrape of `registry`.

    When a collector in it fails, what can be read of `own` is shown in the plain format: a broken one may cost its
    own samples, never the scrape.
    """
    try:
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type
    except Exception:  # noqa: BLE001  # a foreign collector may raise anything
        return b"".join(map(_readable, own)), CONTENT_TYPE_PLAIN_0_0_4


def _readable(collector: Collector) -> bytes:
    try:
        return generate_latest(collector)
    except Exception:  # noqa: BLE001  # the rest of the scrape goes on
        return _UNREADABLE
