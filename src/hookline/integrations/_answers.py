"""What a receiver's answer says: how long to wait, and a bounded look at its body."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2

from hookline.errs import parse_retry_after

EXCERPT_BYTES = 1024
MAX_BODY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, as far as a hook cares: `excerpt` is at most 1,024 bytes of the body as it came."""

    status: int
    retry_after_seconds: float | None
    excerpt: bytes

    @property
    def accepted(self) -> bool:
        """Say whether the receiver took the event: any 2xx."""
        return 200 <= self.status < 300  # noqa: PLR2004 - HTTP's own numbers


async def exchange(transport: httpx2.AsyncBaseTransport, request: httpx2.Request, *, limit_seconds: float) -> Answer:
    """Send one request and return its answer within `limit_seconds`, whatever the receiver does.

    Redirects are answers like any other, and nothing of the answer is decoded. Once the status is known it decides: a body
    that does not end, breaks off or is longer than 64 KiB is cut. Raises httpx2's transport errors.
    """
    deadline = asyncio.get_running_loop().time() + limit_seconds
    try:
        async with asyncio.timeout_at(deadline):
            response = await transport.handle_async_request(request)
    except TimeoutError as error:
        raise httpx2.ReadTimeout("the receiver gave no answer in time") from error
    excerpt = await _read_excerpt(response, deadline)
    retry_after = parse_retry_after(response.headers.get("retry-after"), datetime.now(UTC))
    return Answer(status=response.status_code, retry_after_seconds=retry_after, excerpt=excerpt)


async def _read_excerpt(response: httpx2.Response, deadline: float) -> bytes:
    kept = bytearray()
    try:
        async with asyncio.timeout_at(deadline), contextlib.aclosing(response.aiter_raw()) as chunks:
            seen = 0
            async for chunk in chunks:
                kept += chunk[: EXCERPT_BYTES - len(kept)]
                seen += len(chunk)
                if seen >= MAX_BODY_BYTES:
                    break
    except (TimeoutError, httpx2.TransportError):
        pass
    finally:
        await response.aclose()
    return bytes(kept)
