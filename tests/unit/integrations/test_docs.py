from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from hookline.contract import Event, parse_webhook_secret, sign_webhook, webhook_message_id
from hookline.integrations import KINDS
from hookline.integrations._cloudevent import cloudevent_json
from hookline.service._tables import HookTable
from tests.unit.integrations.kinds import build

PAGE = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text(encoding="utf-8")
SERVICE_KEYS = set(HookTable.model_fields)
EXAMPLES: list[dict[str, Any]] = [
    hook
    for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    for hook in tomllib.loads(block).get("hooks", [])
]


def section(kind: str) -> str:
    return PAGE.split(f"\n## {kind}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["kind"])
def test_every_example_is_a_hook(example: dict[str, Any]) -> None:
    """What the page shows as TOML is accepted by the kind."""
    options = {key: value for key, value in example.items() if key not in SERVICE_KEYS}
    assert build(example["kind"], example["name"], options).kind == example["kind"]


def test_every_kind_has_an_example() -> None:
    """No kind ships without being shown."""
    assert {example["kind"] for example in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_option_is_on_the_page_with_its_default(kind: str) -> None:
    """The table of a kind names exactly its options, in order, and their defaults."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", section(kind), re.MULTILINE)
    fields = KINDS[kind].Options.model_fields
    assert [(name, shown.strip("`")) for name, shown in rows] == [
        (name, _shown(field.default)) for name, field in fields.items()
    ]


def _shown(default: object) -> str:
    if default is PydanticUndefined:
        return "required"
    if default is None or default == ():
        return "none"
    return f'"{default}"' if isinstance(default, str) else str(default).lower()


def test_the_request_on_the_page_is_the_request_that_is_sent() -> None:
    """The id, the body and the signature shown are those of the seed's example event."""
    event = Event.versioned(
        source="submitqueue",
        type="batch.failed",
        subject="batch-778",
        version=4,
        payload={"batch_id": "batch-778", "error": "merge conflict"},
        timestamp_ms=1_796_032_800_123,
    )
    [secret] = re.findall(r"signed with `(whsec_\w+)`", PAGE)
    shown = dict(re.findall(r"^(webhook-\w+): (.+)$", PAGE, re.MULTILINE))
    body, message_id = cloudevent_json(event), webhook_message_id(event.source, event.id, "ci")
    assert body.decode() in PAGE
    timestamp_seconds = int(shown["webhook-timestamp"])
    assert shown == sign_webhook([parse_webhook_secret(secret)], message_id, timestamp_seconds, body)
