"""The examples, run as a person would: one command, its output and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.support.kafka import TestBroker

_ROOT: Final = Path(__file__).parents[2]
_ENDS_SECONDS: Final = 150


def _run(broker: TestBroker, example: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    # CreateTopics is not answered by an embedded broker, so the example runs the one that it makes itself.
    where = ["--embedded"] if broker.kind == "embedded" else ["--bootstrap", broker.bootstrap]
    return subprocess.run(
        [sys.executable, "-m", f"examples.{example}", *where, *arguments],
        cwd=_ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_ENDS_SECONDS,
        check=False,
    )


def _proof(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    assert document.pop("seconds") > 0
    return document


def _all_well(count: int) -> dict[str, Any]:
    numbers = {"published": count, "audited": count, "warehouse": count, "dead_letters": 0}
    return numbers | {"each_once": True, "in_order": True, "unchanged": True}


def test_real_webhooks_are_handled_each_once_in_order(broker: TestBroker) -> None:
    """All 329 recorded webhooks reach both hooks, once, in order per subject and unchanged; none is dead (P1, P3)."""
    done = _run(broker, "github", "--output", "json")
    assert _proof(done) == _all_well(329)
    assert done.returncode == 0, done.stderr


def test_cdevents_of_another_program_are_handled(broker: TestBroker) -> None:
    """All 45 CDEvents, written in structured and in binary mode by a stranger, reach both hooks as they were (P1)."""
    done = _run(broker, "cdevents", "--output", "json")
    assert _proof(done) == _all_well(90)
    assert done.returncode == 0, done.stderr


def test_what_was_written_may_be_kept_and_read(broker: TestBroker, tmp_path: Path) -> None:
    """Text output is for people, and a folder that is named keeps the audit file, a line an event."""
    kept = tmp_path / "kept"
    done = _run(broker, "cdevents", "--mode", "binary", "--folder", kept)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["published", "45"]
    assert len((kept / "audit.jsonl").read_text().splitlines()) == 45


def test_a_proof_that_fails_ends_one(broker: TestBroker, tmp_path: Path) -> None:
    """A webhook that was published twice is handled once (P4), and the example says that it was not each once."""
    recorded = tmp_path / "recorded.jsonl"
    payload = {"repository": {"full_name": "octocat/hello"}}
    recorded.write_text(2 * (json.dumps({"event": "push", "example": 0, "payload": payload}) + "\n"))
    done = _run(broker, "github", "--output", "json", "--file", recorded)
    assert done.returncode == 1
    assert _proof(done) == _all_well(1) | {"published": 2, "each_once": False}
