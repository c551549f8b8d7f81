"""Signatures of Standard Webhooks 1.0.0, symmetric scheme `v1`.

Source of the rules: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

from hookline.contract._errors import WebhookSecretError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PREFIX = "whsec_"
_ASYMMETRIC = ("whsk_", "whpk_")


def parse_webhook_secret(text: str) -> bytes:
    """Return the key behind `whsec_<base64>`; prefix and padding may be missing.

    Raises WebhookSecretError for anything else, without repeating it.
    """
    body = text.strip().removeprefix(_PREFIX)
    if body.startswith(_ASYMMETRIC):
        raise WebhookSecretError("the secret is an asymmetric key (v1a): only whsec_ secrets are supported")
    try:
        key = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        # The cause would show the secret in a traceback's locals: `from None`.
        raise WebhookSecretError("the secret is not whsec_ followed by base64") from None
    if not key:
        raise WebhookSecretError("the secret is empty")
    return key


def webhook_message_id(*parts: str) -> str:
    """Return the `webhook-id` of what the parts name: equal over retries and restarts, without a dot.

    `msg_` and the first 26 base32 digits of the SHA-256 over the parts, each as UTF-8 behind its length in eight
    big-endian bytes (so that no two lists of parts run together).
    """
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return "msg_" + base64.b32encode(digest.digest()).decode()[:26]


def sign_webhook(keys: Sequence[bytes], message_id: str, timestamp_seconds: int, body: bytes) -> dict[str, str]:
    """Sign a body and return the three headers that prove it; one signature for each key, the newest first.

    `timestamp_seconds` is that of this attempt. Raises ValueError for an id with a dot, the specification's separator,
    and when there is no key to sign with.
    """
    if not keys:
        raise ValueError("a signature needs at least one key")
    if not message_id or "." in message_id:
        raise ValueError("a message id is not empty and has no dot")
    signed = f"{message_id}.{timestamp_seconds}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_seconds),
        "webhook-signature": " ".join(_signature(key, signed) for key in keys),
    }


def _signature(key: bytes, signed: bytes) -> str:
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"
