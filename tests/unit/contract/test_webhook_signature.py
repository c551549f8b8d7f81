"""Signatures that every other implementation of Standard Webhooks accepts."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import (
    ContractError,
    WebhookSecretError,
    parse_webhook_secret,
    sign_webhook,
    webhook_message_id,
)

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "standard-webhooks.json").read_text(encoding="utf-8")
)
OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()
KEYS = [parse_webhook_secret(NEW), parse_webhook_secret(OLD)]


def now_seconds() -> int:
    return int(datetime.now(UTC).timestamp())


@pytest.mark.parametrize("vector", VECTORS["sign"], ids=lambda vector: vector["msg_id"])
def test_signatures_equal_the_published_vectors(vector: dict[str, Any]) -> None:
    """The three headers of a published message are the published ones, byte for byte."""
    key = parse_webhook_secret(vector["secret"])
    assert sign_webhook([key], vector["msg_id"], vector["timestamp"], vector["payload"].encode()) == {
        "webhook-id": vector["msg_id"],
        "webhook-timestamp": str(vector["timestamp"]),
        "webhook-signature": vector["signature"],
    }


@pytest.mark.parametrize("form", VECTORS["secret_forms"], ids=lambda form: form["note"])
def test_secrets_are_read_with_or_without_prefix_and_padding(form: dict[str, str]) -> None:
    """Every published form of a secret is the key that the reference library reads."""
    body = b'{"test": 1}'
    reference = standardwebhooks.Webhook(form["secret"]).sign("msg_1", datetime.fromtimestamp(1, UTC), body.decode())
    headers = sign_webhook([parse_webhook_secret(form["secret"])], "msg_1", 1, body)
    assert headers["webhook-signature"] == reference


def test_a_secret_from_a_file_may_end_in_a_line_end() -> None:
    """White space around a secret is not part of it."""
    assert parse_webhook_secret(f" {OLD}\r\n") == b"o" * 24


@pytest.mark.parametrize(
    "text",
    ["", "whsec_", "whsec_not base64!", "whsec_a", "whsk_AAAA", "whsec_whsk_AAAA", "whpk_AAAA", "h\x00", "ключ", "é"],
)
def test_what_is_no_secret_is_refused_and_not_repeated(text: str) -> None:
    """P15: an unusable secret, an asymmetric one too, is an error that does not hold it, nor its cause."""
    with pytest.raises(WebhookSecretError) as caught:
        parse_webhook_secret(text)
    assert not text.removeprefix("whsec_") or text not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_an_unusable_secret_is_a_broken_contract_and_a_wrong_value() -> None:
    """Whoever catches ContractError or ValueError catches it."""
    assert issubclass(WebhookSecretError, ContractError)
    assert issubclass(WebhookSecretError, ValueError)


@pytest.mark.parametrize("held", [OLD, NEW])
def test_a_rotation_verifies_with_the_old_and_with_the_new_secret(held: str) -> None:
    """While both secrets sign, a receiver that knows either of them accepts."""
    headers = sign_webhook(KEYS, "msg_1", now_seconds(), b'{"a":1}')
    assert standardwebhooks.Webhook(held).verify(b'{"a":1}', headers) == {"a": 1}


def test_a_changed_body_does_not_verify() -> None:
    """The signature is over the body's own bytes."""
    headers = sign_webhook(KEYS, "msg_1", now_seconds(), b'{"a":1}')
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(OLD).verify(b'{"a": 1}', headers)


@pytest.mark.parametrize("message_id", ["", "a.b"])
def test_an_id_that_is_empty_or_has_a_dot_is_refused(message_id: str) -> None:
    """The separator of the signed text may not stand in the id."""
    with pytest.raises(ValueError, match="id"):
        sign_webhook(KEYS, message_id, 1, b"")


def test_nothing_is_signed_with_no_key() -> None:
    """A signature header without a signature is never made."""
    with pytest.raises(ValueError, match="key"):
        sign_webhook([], "msg_1", 1, b"")


@given(
    st.lists(st.text(st.characters()), min_size=1, max_size=4),
    st.lists(st.text(st.characters()), min_size=1, max_size=4),
)
def test_message_ids_tell_their_parts_apart(one: list[str], other: list[str]) -> None:
    """Equal parts give equal ids; different parts, however they are split, give different ones."""
    assert (webhook_message_id(*one) == webhook_message_id(*other)) == (one == other)


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=4))
def test_message_ids_are_short_and_without_a_dot(parts: list[str]) -> None:
    """Whatever the parts, lone surrogates too, an id is `msg_` and 26 base32 digits."""
    made = webhook_message_id(*parts)
    assert made.startswith("msg_")
    assert len(made) == 30
    assert "." not in made
