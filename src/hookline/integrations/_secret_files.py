"""The secrets that one webhook signs with: how many a rotation holds, and files of them that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.contract import WebhookSecretError, parse_webhook_secret

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SPEC_KEY_BYTES = 24
MAX_SECRETS = 10


def parse_secrets(texts: Sequence[str]) -> tuple[bytes, ...]:
    """Return 1 to 10 keys, the first one the newest; raises WebhookSecretError."""
    if not texts:
        raise WebhookSecretError("there is no secret to sign with")
    if len(texts) > MAX_SECRETS:
        raise WebhookSecretError(f"{len(texts)} secrets are more than the {MAX_SECRETS} that a rotation can hold")
    return tuple(parse_webhook_secret(text) for text in texts)


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
