"""Take secrets out of text before it is logged, sent, shown or written to a header.

ValueError
+-- RedactionPatternError   a configured pattern is not a regular expression
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from hookline.errs._secrets import HINT, RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK: Final = "[redacted]"
MIN_SECRET_CHARS: Final = 4
_MAX_PASSES: Final = 16


class RedactionPatternError(ValueError):
    """Say that a configured pattern is not a regular expression, and which."""


class Redactor:
    """Replace secrets by `[redacted]`: known shapes, configured patterns, and the very values of known secrets.

    `patterns` are regular expressions; where one has a group named `secret` only that group is hidden. `secrets` are
    literal values (a password from the settings), hidden wherever they stand, also URL-quoted; shorter than four
    characters they would blank innocent text and are ignored. Redacting twice changes nothing more. Safe to share
    between threads.
    """

    __slots__ = ("_own",)

    def __init__(self, *, patterns: Iterable[str] = (), secrets: Iterable[str] = ()) -> None:
        own = [_compiled(pattern) for pattern in patterns]
        self._own = (*_literal(secrets), *own)

    def __repr__(self) -> str:
        return f"Redactor({len(RULES) + len(self._own)} rules)"

    def redact(self, text: str) -> str:
        """Return `text` without secrets."""
        for _ in range(_MAX_PASSES):
            hidden = self._once(text)
            if hidden == text:
                break
            text = hidden
        return text

    def _once(self, text: str) -> str:
        known = RULES if HINT.search(text) else ()
        for rule in (*self._own, *known):
            if rule.search(text):
                text = MASK.join(rule.sub(_masked, part) for part in text.split(MASK))
        return text


def _masked(match: re.Match[str]) -> str:
    whole = match.group()
    if "secret" not in match.re.groupindex:
        return MASK if whole else ""
    start, end = (at - match.start() for at in match.span("secret"))
    return whole[:start] + MASK + whole[end:] if end > start >= 0 else whole


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise RedactionPatternError(f"redaction pattern {pattern!r} is not a regular expression: {error}") from error


def _literal(secrets: Iterable[str]) -> list[re.Pattern[str]]:
    known = {
        form for secret in secrets for form in _forms(secret) if len(form) >= MIN_SECRET_CHARS and form not in MASK
    }
    longest_first = sorted(known, key=lambda form: (-len(form), form))
    return [re.compile("|".join(map(re.escape, longest_first)))] if known else []


def _forms(secret: str) -> tuple[str, ...]:
    raw = secret.encode("utf-8", "replace")
    return secret, quote(raw, safe=""), quote_plus(raw), json.dumps(secret)[1:-1]
