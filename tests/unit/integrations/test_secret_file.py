"""A secret in a file: read when a hook is opened, and again when the file changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from hookline.integrations import SecretFile, SecretFileError

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "c4n4ry-7719"


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A rotation is a change of the file, in place or by rename; white space around the secret is not part of it."""
    path = tmp_path / "token"
    path.write_text(" first \n")
    secret = SecretFile(path)
    assert secret.read() == secret.current() == "first"
    path.write_text("the second\n")
    assert secret.current() == "the second"
    (tmp_path / "next").write_text("the  third\n")
    (tmp_path / "next").rename(path)
    assert secret.current() == "the  third"


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"], ids=["gone", "empty", "blank", "binary"])
def test_a_file_without_a_secret_is_told_at_the_opening(tmp_path: Path, content: bytes | None) -> None:
    """What is missing is told before the first event, and each time until there is one."""
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    secret = SecretFile(path)
    for ask in (secret.read, secret.current):
        with pytest.raises((OSError, UnicodeDecodeError, SecretFileError)):
            ask()
    path.write_text("here it is")
    assert secret.current() == "here it is"


def test_the_last_good_secret_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While a changed file holds none the old one is used, and the log says so once, without it."""
    path = tmp_path / "token"
    path.write_text(CANARY)
    secret = SecretFile(path)
    secret.read()
    path.unlink()
    with caplog.at_level(logging.ERROR, logger="hookline"):
        assert [secret.current(), secret.current()] == [CANARY, CANARY]
    assert len(caplog.records) == 1
    assert CANARY not in caplog.text + repr(secret)
    path.write_text("the next")
    assert secret.current() == "the next"
