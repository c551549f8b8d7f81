"""Signatures that another implementation of Standard Webhooks accepts."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from hookline.deadletters import secret_key, sign_webhook, webhook_message_id

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the published test secret


def test_the_published_vector_is_reproduced() -> None:
    """The one vector that the specification's libraries share comes out byte for byte."""
    headers = sign_webhook([SECRET], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_rotated_secret_is_accepted_by_both_sides() -> None:
    """With two secrets, a receiver that holds either of them verifies the message."""
    other = "whsec_" + base64.b64encode(b"another secret of 32 bytes......").decode()
    now = int(datetime.now(UTC).timestamp())
    headers = sign_webhook([SECRET, other], "msg_1", now, b"{}")
    assert Webhook(SECRET).verify(b"{}", headers) == {}
    assert Webhook(other).verify(b"{}", headers) == {}


@pytest.mark.parametrize("form", [SECRET, SECRET.removeprefix("whsec_"), SECRET[:-1], SECRET + "Br"])
def test_prefix_and_padding_are_optional(form: str) -> None:
    """A secret is read with and without its prefix and its base64 padding."""
    assert secret_key(form)


@pytest.mark.parametrize("bad", ["", "whsec_", "no base64!", "é"])
def test_a_bad_secret_is_refused_without_being_quoted(bad: str) -> None:
    """P15: what is no secret is refused, and the error does not repeat it."""
    with pytest.raises(ValueError, match="the secret is") as caught:
        secret_key(bad)
    assert not bad or bad == "whsec_" or bad not in str(caught.value)


def test_an_id_with_a_dot_and_a_missing_secret_are_refused() -> None:
    """The separator of the signed text may not stand in the id, and nothing is signed with no key."""
    with pytest.raises(ValueError, match="dot"):
        sign_webhook([SECRET], "a.b", 1, b"")
    with pytest.raises(ValueError, match="secret"):
        sign_webhook([], "msg", 1, b"")


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_message_ids_tell_their_parts_apart(one: list[str], other: list[str]) -> None:
    """Equal parts give equal ids without a dot; different parts, however they are split, give different ones."""
    assert "." not in webhook_message_id(*one)
    assert (webhook_message_id(*one) == webhook_message_id(*other)) == (one == other)
