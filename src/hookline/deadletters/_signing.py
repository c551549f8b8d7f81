"""Signatures of the Standard Webhooks specification, version 1.0.0."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PREFIX = "whsec_"


def sign_webhook(secrets: Sequence[str], message_id: str, timestamp_seconds: int, body: bytes) -> dict[str, str]:
    """Sign a body and return the three headers that prove it.

    Each secret adds one ``v1`` signature, so that a receiver may hold the old or the new one while it is rotated. A secret is base64 with or without its
    ``whsec_`` prefix and padding. ``message_id`` stays the same over the retries of one message, ``timestamp_seconds`` is that of this attempt. Raises
    ValueError for a secret that is empty or no base64, for no secret at all, and for an id with a dot (the specification's separator).
    """
    if not secrets:
        raise ValueError("a signature needs at least one secret")
    if not message_id or "." in message_id:
        raise ValueError("a message id is not empty and has no dot")
    signed = f"{message_id}.{timestamp_seconds}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_seconds),
        "webhook-signature": " ".join(_signature(secret_key(secret), signed) for secret in secrets),
    }


def secret_key(secret: str) -> bytes:
    """Decode a secret into the key of its signatures; ValueError, which never quotes it, when it is none."""
    text = secret.strip().removeprefix(_PREFIX)
    padded = text + "=" * (-len(text) % 4)
    try:
        key = base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the secret is not base64 (whsec_...)") from None
    if not key:
        raise ValueError("the secret is empty")
    return key


def webhook_message_id(*parts: str) -> str:
    """Derive a message id without dots from parts that may hold any text; equal parts give equal ids."""
    joined = "".join(f"{len(part.encode('utf-8', 'surrogatepass'))}:{part}" for part in parts)
    digest = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()
    return "msg_" + base64.b32encode(digest).decode("ascii").lower()[:26]


def _signature(key: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")
