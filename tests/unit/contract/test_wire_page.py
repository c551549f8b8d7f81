"""docs/wire.md says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hookline.contract import (
    MAX_FOREIGN_DEPTH,
    MAX_PAYLOAD_DEPTH,
    MAX_TIMESTAMP_MS,
    MIN_TIMESTAMP_MS,
    Origin,
    Redrive,
    sign_webhook,
)
from tests.unit.contract.samples import golden
from tests.unit.contract.test_dead_letters import sample_letter
from tests.unit.contract.test_properties import CODES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "wire.md").read_text(encoding="utf-8")


def test_codes() -> None:
    """The page lists every code with which a record is refused, and no other."""
    table = PAGE.partition("### Codes")[2].partition("## Dead letters")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == CODES


def test_limits() -> None:
    """The page states the limits that the code has."""
    limits = (f"**{MAX_PAYLOAD_DEPTH}**", f"{MAX_FOREIGN_DEPTH} deep", f"{MIN_TIMESTAMP_MS} to {MAX_TIMESTAMP_MS}")
    assert all(limit in PAGE for limit in limits)


def test_ids() -> None:
    """The page's example ids are golden ones."""
    ids = {entry["id"] for entry in golden()}
    assert set(re.findall(r"\| `((?:submitqueue|stovepipe)/[^`]+)` \|", PAGE)) <= ids


def test_headers() -> None:
    """The page names every header that a dead letter or a republished record has."""
    letter = sample_letter(headers=())
    republished = letter.republished(hooks=["h"], operation="op", again=True)
    assert Redrive.from_headers(republished) == Redrive(
        1, ("h",), "op", again=True, origin=Origin("submitqueue-hook", 3, 42)
    )
    for name, _ in (*letter.record_headers(), *republished):
        assert f"`{name.removeprefix('__dlq.errors')}`" in PAGE or f"`{name}`" in PAGE


def test_failure_document() -> None:
    """The page names every member that the failure document can have."""
    document = json.loads(dict(sample_letter().record_headers())["hookline-dlq-failure"] or b"")
    assert all(f'"{name}"' in PAGE for name in document["hooks"][0])


def test_signature_headers() -> None:
    """The page names the three headers that a signed request has, and no other."""
    section = PAGE.partition("## The HTTP signature")[2].partition("\n## ")[0]
    assert set(re.findall(r"^    ([a-z-]+) ", section, re.MULTILINE)) == set(sign_webhook([b"k"], "msg_1", 1, b""))
