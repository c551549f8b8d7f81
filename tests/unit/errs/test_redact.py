"""Secrets leave text before it is logged, sent or stored (P15, case 18)."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookline.errs import RedactionPatternError, Redactor
from hookline.errs._secrets import HINT, RULES

CANARY = "s3cr3t-CANARY-0451"
SHAPES = [
    "Authorization: Bearer {}",
    "authorization: bearer {}\r\nHost: x",
    "Authorization: Basic {}==",
    "Authorization: Digest username=u, response={}",
    "Proxy-Authorization: {}",
    "Authorization={}",
    "{{'Authorization': 'Bearer {}', 'accept': '*/*'}}",
    '{{"authorization": "{}"}}',
    "[(b'authorization', b'Bearer {}')]",
    "401 for Bearer {}",
    "Cookie: session={}; theme=dark",
    "Set-Cookie: sid={}; HttpOnly",
    "postgresql://app:{}@db.example.com:5432/hooks",
    "postgresql://app:x/{}@db.example.com/hooks",
    "postgresql://app:x@{}@db.example.com/hooks",
    "https://{}:x-oauth-basic@github.com/a/b.git",
    "amqps://{}@queue.example.com",
    "host=db password={} user=app",
    "host=db password='{} two' user=app",
    'connect(password="{}")',
    "sasl.password={}",
    "sasl.jaas.config = {}",
    '{{"client_secret": "{}", "a": 1}}',
    '{{"api-key": "{}"}}',
    "X-Api-Key: {}",
    "DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=x",
    "https://ci.example.com/h?access_token={}&a=1",
    "https://ci.example.com/h?a=1&X-Amz-Signature={}",
    "https://ci.example.com/cb?code={}",
    "https://hooks.slack.com/services/T0/B0/{}",
    "https://discord.com/api/webhooks/1/{}",
    "https://x.webhook.office.com/webhookb2/{}",
    "https://api.telegram.org/bot{}/sendMessage",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n{}",
    "1 validation error for Order\nssn\n  bad [type=x, input_value='{}', input_type=str]",
    "DETAIL:  Key (ssn)=({}) already exists.",
    "DETAIL:  Failing row contains (1, {}, null).",
]
TOKENS = [
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1" * 10,
    "xoxb-123-" + "a1" * 8,
    "whsec_" + "MfKQ9r8GKYqr",
    "AKIA" + "A1" * 8,
    "sk_live_" + "a1" * 8,
    "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
]
INNOCENT = [
    "hook comment failed after 3 attempts on partition 4",
    "ConnectError: [Errno 111] Connection refused",
    "https://ci.example.com:8080/users/@me/hooks?page=2",
    "Basic authentication is required",
    "HTTP 503 from ci.example.com: upstream busy",
    "key batch-778 in submitqueue-hook/3/1042",
    "secret_file = /run/config/ci",
    "max_tokens: 4096",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_secrets_in_their_shapes(shape: str) -> None:
    """No part of a secret is left, in any shape in which clients and databases print it (P15)."""
    assert CANARY not in Redactor().redact(f"it failed: {shape.format(CANARY)}")


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_by_their_prefix(token: str) -> None:
    """A token that is known by its look needs no name beside it (P15)."""
    assert token not in Redactor().redact(f"rejected {token}.")


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_stays(text: str) -> None:
    """What names no secret is left as it is: an operator must still be able to read it."""
    assert Redactor().redact(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    """Host, path and other parameters are still there to be read."""
    text = Redactor().redact(f"postgresql://app:{CANARY}@db.example.com:5432/hooks?sslmode=require")
    assert "db.example.com:5432/hooks?sslmode=require" in text


def test_known_values_are_hidden_wherever_they_stand() -> None:
    """A secret from the settings is hidden by its value, also URL-quoted or inside JSON (P15)."""
    redactor = Redactor(secrets=['p@ss/"wörd'])
    assert redactor.redact('said p@ss/"wörd, p%40ss%2F%22w%C3%B6rd') == "said [redacted], [redacted]"


def test_a_short_value_is_not_hidden() -> None:
    """A secret of three characters would blank innocent text."""
    assert Redactor(secrets=["abc", ""]).redact("abc") == "abc"


def test_configured_patterns() -> None:
    """A pattern hides its whole match, or only its group `secret`."""
    redactor = Redactor(patterns=[r"\b\d{3}-\d{2}-\d{4}\b", r"order (?P<secret>\w+)"])
    assert redactor.redact("ssn 123-45-6789 of order x9") == "ssn [redacted] of order [redacted]"


def test_a_pattern_that_matches_nothing_changes_nothing() -> None:
    """An empty match hides no character."""
    assert Redactor(patterns=["x*"]).redact("abc") == "abc"


def test_a_broken_pattern_is_refused_when_it_is_configured() -> None:
    """A typo in the settings is said at start, not at the first secret."""
    with pytest.raises(RedactionPatternError):
        Redactor(patterns=["("])


def test_a_redactor_does_not_print_its_secrets() -> None:
    """Its repr holds no value (P15)."""
    assert CANARY not in repr(Redactor(secrets=[CANARY]))


def pieces() -> st.SearchStrategy[str]:
    """Make text of the words the rules look for, in any order."""
    shapes = [shape.format("Zz9/=") for shape in SHAPES]
    return st.lists(
        st.sampled_from([*shapes, *TOKENS, *INNOCENT, "[redacted]", "'", '"', "@", "\n", " ", "=", ":", "token", "x"])
    ).map("".join)


@given(pieces() | st.text())
@example("password=[redacted] token")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """A line that was redacted once passes the log pipeline unchanged."""
    redactor = Redactor(patterns=[r"o+"], secrets=["theme"])
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@given(st.data())
def test_every_rule_has_its_hint(data: st.DataObject) -> None:
    """The quick look never passes over text that a rule would change."""
    rule = data.draw(st.sampled_from(RULES))
    simple = re.compile(re.sub(r"(\{\d+,\d*\}|[+*?])\+", r"\1", rule.pattern), rule.flags)
    text = data.draw(st.from_regex(simple).filter(rule.search))
    assert HINT.search(text)


@pytest.mark.parametrize(
    "piece",
    ["a", "password", "://a:b/", "://", "-eyJ", 'token="', "Key (a)=(", "input_value=", "Failing row contains (", "?a[",
     "password: '\\", "authorization: ", "basic a"],
)  # fmt: skip
def test_hostile_repetition_ends(piece: str) -> None:
    """No text makes a rule slow: 64 KiB of any beginning is done within the test's time."""
    assert Redactor().redact((piece * 65_536)[:65_536])
