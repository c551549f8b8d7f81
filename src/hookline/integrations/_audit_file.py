"""The audit file itself: one locked, append-only file of JSON lines and the identities in it. Blocking."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.integrations._errors import AuditFileError, AuditFileLockedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LINE_BEGINS = b'{"id":'


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One event as it will stand in the file: `raw` ends with its newline and has no other."""

    identity: bytes
    raw: bytes


def identity_of(source: str, event_id: str) -> bytes:
    """Return sixteen bytes that stand for (source, id): an index of whole identities would not fit into memory."""
    return hashlib.blake2b(json.dumps([source, event_id]).encode(), digest_size=16).digest()


class AuditFile:
    """Append lines that are not there yet, on disk before `append` returns.

    Invariants: the file ends with a newline or is empty; every identity in the index stands in a line that was
    fsynced; a failed append leaves the file as it was. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_bytes_cut = 0
        self.unreadable_lines = 0
        self._index: set[bytes] = set()
        self._size = 0
        self._fd = self._open_locked()
        try:
            self._recover()
        except BaseException:
            os.close(self._fd)
            raise

    def __len__(self) -> int:
        """Count the identities known."""
        return len(self._index)

    def append(self, lines: Sequence[AuditLine]) -> None:
        """Write the lines whose identity is new, together, and fsync once; all or none of them.

        Raises OSError; after one that could not be undone, the file is shut and must be opened again.
        """
        new: dict[bytes, bytes] = {}
        for line in lines:
            if line.identity not in self._index:
                new.setdefault(line.identity, line.raw)
        if new:
            self._append(b"".join(new.values()))
            self._index.update(new)

    def is_at_its_path(self) -> bool:
        """Say whether the path still leads to this file: a rotation moves it away."""
        if self._fd < 0:
            return False
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        own = os.fstat(self._fd)
        return (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Close the file and with it the lock; may be called twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _open_locked(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o640)
        try:
            self._lock(fd)
            _fsync_directory(self.path.parent)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _lock(self, fd: int) -> None:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise AuditFileError(f"{self.path} is no regular file")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AuditFileLockedError(
                f"{self.path} is written by another process or another hook; give each its own file"
            ) from None

    def _append(self, block: bytes) -> None:
        try:
            _write_all(self._fd, block)
            os.fsync(self._fd)
        except OSError:
            self._undo()
            raise
        self._size += len(block)

    def _recover(self) -> None:
        # An identity is trusted because its line is on disk, so what a killed writer left in the page cache is synced
        # before it is read.
        os.fsync(self._fd)
        with open(self._fd, "rb", closefd=False) as reader:
            reader.seek(0)
            for number, raw in enumerate(reader):
                self._read_line(number, raw)

    def _read_line(self, number: int, raw: bytes) -> None:
        identity = _read_identity(raw)
        if number == 0 and identity is None and not _may_be_torn(raw):
            raise AuditFileError(f"{self.path} holds something other than audit lines; it was left untouched")
        if not raw.endswith(b"\n"):
            self._cut_torn_line(raw)
            return
        self._size += len(raw)
        if identity is None:
            self.unreadable_lines += 1
            return
        self._index.add(identity)

    def _cut_torn_line(self, raw: bytes) -> None:
        # Whoever wrote it was never told that it was written, so its event comes again.
        os.ftruncate(self._fd, self._size)
        os.fsync(self._fd)
        self.torn_bytes_cut = len(raw)

    def _undo(self) -> None:
        # After a failed fsync the pages may be marked clean and never be written: only lines that are written anew count.
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self.close()


def _write_all(fd: int, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _fsync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _may_be_torn(raw: bytes) -> bool:
    return not raw.endswith(b"\n") and (_LINE_BEGINS.startswith(raw[: len(_LINE_BEGINS)]) or not raw.strip(b"\0"))


def _read_identity(raw: bytes) -> bytes | None:
    try:
        document = json.loads(raw)
        return identity_of(document["source"], document["id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
