from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from hookline.integrations import WebhookSecretError
from hookline.integrations._signing import SecretFiles, message_id, parse_secret, parse_secrets, sign

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "standard-webhooks.json").read_text(encoding="utf-8")
)
OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()


@pytest.mark.parametrize("vector", VECTORS["sign"], ids=lambda vector: vector["msg_id"])
def test_signatures_equal_the_published_vectors(vector: dict[str, Any]) -> None:
    """Our signature of a published message is the published signature."""
    keys = [parse_secret(vector["secret"])]
    assert sign(keys, vector["msg_id"], vector["timestamp"], vector["payload"].encode()) == vector["signature"]


@pytest.mark.parametrize("form", VECTORS["secret_forms"], ids=lambda form: form["note"])
def test_secrets_are_read_with_or_without_prefix_and_padding(form: dict[str, str]) -> None:
    """Every published form of a secret is the key that the reference library reads."""
    body = b'{"test": 1}'
    reference = standardwebhooks.Webhook(form["secret"]).sign("msg_1", datetime.fromtimestamp(1, UTC), body.decode())
    assert sign([parse_secret(form["secret"])], "msg_1", 1, body) == reference


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_not base64!", "whsec_a", "whsk_AAAA", "hunter2\x00", "ключ"])
def test_what_is_no_secret_is_refused_and_not_repeated(text: str) -> None:
    """P15: an unusable secret is an error that does not hold it."""
    with pytest.raises(WebhookSecretError) as caught:
        parse_secret(text)
    assert not text.removeprefix("whsec_") or text not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_rotation_holds_one_to_ten_secrets() -> None:
    """No secret and more than ten are refused."""
    assert len(parse_secrets([NEW] * 10)) == 10
    for count in (0, 11):
        with pytest.raises(WebhookSecretError):
            parse_secrets([NEW] * count)


@pytest.mark.parametrize("held", [OLD, NEW])
def test_a_rotation_verifies_with_the_old_and_with_the_new_secret(held: str) -> None:
    """While both secrets sign, a receiver that knows either of them accepts."""
    now = int(datetime.now(UTC).timestamp())
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": sign(parse_secrets([NEW, OLD]), "msg_1", now, b'{"a":1}'),
    }
    assert standardwebhooks.Webhook(held).verify(b'{"a":1}', headers) == {"a": 1}


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=2, max_size=2, unique=True))
def test_message_ids_are_stable_distinct_and_without_a_dot(triples: list[tuple[str, str, str]]) -> None:
    """Equal (source, id, hook) give equal ids, different ones different ids, and none holds a dot."""
    first, second = (message_id(*triple) for triple in triples)
    assert first != second
    assert first == message_id(*triples[0])
    assert first.startswith("msg_")
    assert len(first) == 30
    assert "." not in first


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
