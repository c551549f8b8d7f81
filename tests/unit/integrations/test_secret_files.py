"""How many secrets a rotation holds, and files of them that change under an open hook."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest

from hookline.contract import WebhookSecretError
from hookline.integrations._secret_files import SecretFiles, parse_secrets

if TYPE_CHECKING:
    from pathlib import Path

OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()


def test_a_rotation_holds_one_to_ten_secrets() -> None:
    """No secret and more than ten are refused."""
    assert len(parse_secrets([NEW] * 10)) == 10
    for count in (0, 11):
        with pytest.raises(WebhookSecretError):
            parse_secrets([NEW] * count)


def test_a_changed_file_of_secrets_is_read_again(tmp_path: Path) -> None:
    """A rotation is a change of the file, without a restart."""
    path = tmp_path / "secret"
    path.write_text(f"{OLD}\n")
    files = SecretFiles([path])
    assert files.read() == parse_secrets([OLD])
    path.write_text(f"{NEW}\n{OLD}\n")
    assert files.current() == parse_secrets([NEW, OLD])


def test_a_replaced_file_of_equal_size_is_read_again(tmp_path: Path) -> None:
    """A secret that is swapped in by rename, as Kubernetes does, is noticed."""
    path, other = tmp_path / "secret", tmp_path / "other"
    path.write_text(OLD)
    files = SecretFiles([path])
    files.read()
    other.write_text("whsec_" + base64.b64encode(b"x" * 24).decode())
    os.replace(other, path)  # noqa: PTH105 - the very call that a rotation makes
    assert files.current() == (b"x" * 24,)


@pytest.mark.parametrize("broken", ["", "not a secret", None])
def test_a_file_broken_in_rotation_leaves_the_old_keys(tmp_path: Path, broken: str | None) -> None:
    """While the new file is missing or unusable the last good keys sign, and `stale` says so."""
    path = tmp_path / "secret"
    path.write_text(OLD)
    files = SecretFiles([path])
    keys = files.read()
    if broken is None:
        path.unlink()
    else:
        path.write_text(broken)
    assert files.current() == keys
    assert files.stale is not None
