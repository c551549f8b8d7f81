"""One secret in a file of its own, that may change while it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.integrations._errors import SecretFileError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from pathlib import Path

_log = get_logger(__name__)


class SecretFile:
    """The text of a file, less the white space around it, read again when the file changes.

    Call `read` when a hook is opened, so that a secret that is missing is told then, and `current` before each use: a
    rotation is a change of the file, without a restart. While a changed file cannot be read or is empty the last good
    text stays, and the log says so once. Blocking, but only for a `stat` between changes. Not thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._text = ""
        self._is_stale = False

    def read(self) -> str:
        """Read the file now. Raises OSError, UnicodeDecodeError, and SecretFileError when nothing is in it."""
        stamp = self._stat()
        text = self.path.read_text(encoding="utf-8").strip()
        if not text:
            raise SecretFileError(f"the file {self.path} holds no secret: it is empty")
        self._text, self._stamp = text, stamp
        return text

    def current(self) -> str:
        """Return the secret to use now. Raises as `read` does while there was never a good one."""
        try:
            if self._stat() != self._stamp:
                self.read()
        except (OSError, UnicodeDecodeError, SecretFileError) as error:
            if self._stamp is None:
                raise
            self._note_stale(error)
        else:
            self._is_stale = False
        return self._text

    def __repr__(self) -> str:
        return f"SecretFile({str(self.path)!r})"

    def _note_stale(self, error: Exception) -> None:
        if not self._is_stale:
            _log.error("secret_not_read_again", path=str(self.path), error=type(error).__name__)
        self._is_stale = True

    def _stat(self) -> tuple[int, int, int]:
        stat = self.path.stat()
        return stat.st_ino, stat.st_size, stat.st_mtime_ns
