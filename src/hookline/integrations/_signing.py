"""Standard Webhooks 1.0.0, symmetric scheme `v1`: secrets, ids and signatures.

Source of the rules: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

from hookline.integrations._errors import WebhookSecretError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PREFIX = "whsec_"
SPEC_KEY_BYTES = 24
MAX_SECRETS = 10


def parse_secret(text: str) -> bytes:
    """Return the key behind `whsec_<base64>`; prefix and padding may be missing.

    Raises WebhookSecretError for anything else, without repeating it.
    """
    body = text.strip().removeprefix(PREFIX)
    if body.startswith(("whsk_", "whpk_")):
        raise WebhookSecretError("the secret is an asymmetric key (v1a): only whsec_ secrets are supported")
    try:
        key = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        # The cause would show the secret in a traceback's locals: `from None`.
        raise WebhookSecretError("the secret is not whsec_ followed by base64") from None
    if not key:
        raise WebhookSecretError("the secret is empty")
    return key


def parse_secrets(texts: Sequence[str]) -> tuple[bytes, ...]:
    """Return 1 to 10 keys, the first one the newest; raises WebhookSecretError."""
    if not texts:
        raise WebhookSecretError("there is no secret to sign with")
    if len(texts) > MAX_SECRETS:
        raise WebhookSecretError(f"{len(texts)} secrets are more than the {MAX_SECRETS} that a rotation can hold")
    return tuple(parse_secret(text) for text in texts)


def message_id(source: str, event_id: str, hook: str) -> str:
    """Return the `webhook-id` of one event for one hook: equal over retries and restarts, without a dot.

    `msg_` and the first 26 base32 digits of the SHA-256 over source, id and hook, each as UTF-8 behind its length
    in eight big-endian bytes (so that no two triples run together).
    """
    digest = hashlib.sha256()
    for part in (source, event_id, hook):
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return "msg_" + base64.b32encode(digest.digest()).decode()[:26]


def sign(keys: Sequence[bytes], msg_id: str, timestamp_seconds: int, body: bytes) -> str:
    """Return the `webhook-signature` header: one `v1,<base64>` for each key, space-separated."""
    signed = f"{msg_id}.{timestamp_seconds}.".encode() + body
    return " ".join(f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}" for key in keys)


class SecretFiles:
    """Keys read from files, one secret a line, and read again when a file changes.

    A rotation is a change of the file: no restart. While a changed file cannot be read, or holds no valid secret, the
    last good keys sign. Blocking, but only for a `stat` of each file between changes. Not thread-safe.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._stamp: tuple[tuple[int, int, int], ...] = ()
        self._keys: tuple[bytes, ...] = ()
        self.stale: Exception | None = None

    def read(self) -> tuple[bytes, ...]:
        """Read the files now; raises OSError or WebhookSecretError."""
        stamp = self._stat()
        lines = [line for path in self._paths for line in path.read_text().split()]
        self._keys, self._stamp = parse_secrets(lines), stamp
        return self._keys

    def current(self) -> tuple[bytes, ...]:
        """Return the keys to sign with now; `stale` says why a changed file was not taken, or is None."""
        try:
            if self._stat() != self._stamp:
                self.read()
            self.stale = None
        except (OSError, UnicodeDecodeError, WebhookSecretError) as error:
            self.stale = error
        return self._keys

    def _stat(self) -> tuple[tuple[int, int, int], ...]:
        stats = [path.stat() for path in self._paths]
        return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats)
