"""`hookline dlq`: looking changes nothing, republishing shows a plan first and needs a reason."""

from __future__ import annotations

import json
import os
import pty
from typing import TYPE_CHECKING

from hookline.contract import DeadLetterClass, format_time
from tests.support.domains import FAILED_AT_MS, settings_text

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine, Finished
    from tests.support.domains import Domain
    from tests.support.kafka import RealKafka

EXECUTE = ("--execute", "--yes", "--reason", "the receiver is mended")
HOUR_MS = 3_600_000


def rows(command_line: CommandLine, *arguments: str) -> list[dict[str, object]]:
    """List as a script does."""
    done = command_line.run("dlq", "list", "--output", "json", *arguments)
    assert done.code == 0, done.err
    listed: list[dict[str, object]] = done.json()
    return listed


def test_nothing_is_no_failure(command_line: CommandLine, domain: Domain) -> None:
    """An empty topic lists nothing, ends 0, and is an empty document for scripts."""
    assert domain.broker.read(domain.dead_topic) == []
    assert command_line.run("dlq", "list").code == 0
    assert rows(command_line) == []


def test_the_list_is_filtered_by_every_part_of_a_letter(command_line: CommandLine, domain: Domain) -> None:
    """Hook, type with a pattern, source, class and time each choose, and all that are given must agree."""
    wanted = domain.die("all", "ci", "chat")
    domain.die("other-hook", "ci")
    domain.die("other-type", "chat", type="request.landed")
    domain.die("other-source", "chat", source="builds")
    domain.die("other-class", "chat", letter_class=DeadLetterClass.EXHAUSTED)
    domain.die("too-old", "chat", failed_at_ms=FAILED_AT_MS - HOUR_MS)
    domain.die("too-young", "chat", failed_at_ms=FAILED_AT_MS + HOUR_MS)
    since, until = format_time(FAILED_AT_MS), format_time(FAILED_AT_MS + 1)
    chosen = rows(
        command_line, "--hook", "chat", "--type", "batch.*", "--source", "submitqueue", "--class", "permanent",
        "--since", since, "--until", until,
    )  # fmt: skip
    assert [row["id"] for row in chosen] == [wanted]
    assert len(rows(command_line, "--limit", "2")) == 2


def test_one_letter_is_shown_whole(command_line: CommandLine, domain: Domain) -> None:
    """P14: event, failures and the producer's own headers, under the id that the list shows."""
    id = domain.die("batch-778", "ci", "chat")
    assert [row["id"] for row in rows(command_line)] == [id]
    shown = command_line.run("dlq", "show", id, "--output", "json")
    assert shown.code == 0
    document = shown.json()
    assert document["event"]["subject"] == "batch-778"
    assert [failure["hook"] for failure in document["failures"]] == ["ci", "chat"]
    assert "ce_id" in {header["name"] for header in document["headers"]}
    text = command_line.run("dlq", "show", id).out
    said = ("ci refused", "chat refused", '"subject": "batch-778"', f"dlq republish --id {id}")
    assert [each for each in said if each not in text] == []


def test_an_unknown_letter_ends_1(command_line: CommandLine, domain: Domain) -> None:
    """What is not there is named, with code 1."""
    domain.die("batch-778", "ci")
    done = command_line.run("dlq", "show", "9/999")
    assert (done.code, done.out) == (1, "")
    assert "9/999" in done.err


def test_what_others_wrote_cannot_steer_a_terminal(command_line: CommandLine, domain: Domain) -> None:
    """Texts of an event are foreign: control characters come out escaped, in lists and in documents."""
    nasty = "\x1b[2J\x07\x9b2J\u202e"
    headers = {"ce_specversion": "1.0", "ce_id": "1", "ce_source": "s", "ce_type": "evil", "ce_subject": f"evil{nasty}"}
    id = domain.die_foreign(b"k", b'"\\ud800"', tuple((name, text.encode()) for name, text in headers.items()))
    shown = command_line.run("dlq", "show", id, "--output", "json")
    assert shown.json()["event"]["subject"] == f"evil{nasty}"
    texts = [command_line.run("dlq", *arguments).out for arguments in (("list",), ("show", id), ("republish", "--all"))]
    for text in (shown.out, *texts):
        assert "evil" in text
        assert not set(nasty) & set(text) - set("[2J")


def republish(command_line: CommandLine, *arguments: str) -> Finished:
    """Republish as a script does."""
    return command_line.run("dlq", "republish", "--output", "json", *arguments)


def test_a_plan_is_shown_and_nothing_sent(command_line: CommandLine, domain: Domain) -> None:
    """Without --execute nothing happens: the plan says what goes where, why it had failed, and how to go on."""
    ids = [domain.die("a", "ci"), domain.die("b", "chat")]
    plan = republish(command_line, "--all").json()
    assert plan["planned"] == 2
    assert plan["topics"] == {domain.hook_topic: 2}
    assert {reason["hook"] for reason in plan["reasons"]} == {"ci", "chat"}
    text = command_line.run("dlq", "republish", "--all").out
    assert all(f"{id} batch.failed " in text for id in ids)
    assert "hookline dlq republish --all --execute --reason" in text.splitlines()[-1]
    assert domain.republished() == []


def test_republishing_sends_each_letter_once_with_its_reason(command_line: CommandLine, domain: Domain) -> None:
    """P14: only the failed hooks are named; a second --all leaves out what was sent and counts it; --again sends it."""
    domain.die("a", "ci")
    domain.die("b", "ci", "chat")
    first = republish(command_line, "--all", *EXECUTE)
    assert (first.code, first.json()["republished"]) == (0, 2)
    sent = {record.key: dict(record.headers) for record in domain.republished()}
    assert json.loads(sent[b"b"]["hookline-redrive-hooks"] or b"") == ["chat", "ci"]
    assert sent[b"a"]["hookline-redrive-reason"] == b"the receiver is mended"
    second = command_line.run("dlq", "republish", "--all", *EXECUTE)
    assert second.code == 0
    assert "2 left out: republished before" in second.out
    assert len(domain.republished()) == 2
    third = republish(command_line, "--all", "--again", *EXECUTE)
    assert (third.code, third.json()["republished"]) == (0, 2)
    assert len(domain.republished()) == 4


def test_ids_and_limits_choose_what_is_republished(command_line: CommandLine, domain: Domain) -> None:
    """--id sends just that letter; --limit the oldest so many, and the rest is told as left out."""
    ids = [domain.die(subject, "ci") for subject in ("a", "b", "c")]
    sent = command_line.run("dlq", "republish", "--id", ids[1], *EXECUTE)
    assert f"confirmed {ids[1]} -> {domain.hook_topic}/" in sent.out
    assert [record.key for record in domain.republished()] == [b"b"]
    limited = republish(command_line, "--all", "--limit", "1", *EXECUTE)
    assert limited.json()["republished"] == 1
    assert {record.key for record in domain.republished()} == {b"a", b"b"}
    assert limited.json()["operation"]


def test_a_person_is_asked(command_line: CommandLine, domain: Domain) -> None:
    """On a terminal without --yes the plan is shown and a question put; only a yes sends."""
    domain.die("a", "ci")
    refused = typed(command_line, "n\n", "dlq", "republish", "--all", "--execute", "--reason", "r")
    assert refused.code == 1
    assert f"1 to {domain.hook_topic}" in refused.out
    assert domain.republished() == []
    agreed = typed(command_line, "y\n", "dlq", "republish", "--all", "--execute", "--reason", "r")
    assert agreed.code == 0
    assert len(domain.republished()) == 1


def typed(command_line: CommandLine, answer: str, *arguments: str) -> Finished:
    """Run a command whose standard input is a terminal on which the answer is typed."""
    terminal, keyboard = pty.openpty()
    try:
        os.write(terminal, answer.encode())
        return command_line.run(*arguments, stdin=keyboard)
    finally:
        os.close(terminal)
        os.close(keyboard)


def test_an_id_that_is_unknown_is_not_passed_over(command_line: CommandLine, domain: Domain) -> None:
    """Whoever names a letter that is not there is told so with code 1, and nothing is sent."""
    id = domain.die("a", "ci")
    done = republish(command_line, "--id", id, "--id", "9/999", *EXECUTE)
    assert (done.code, done.out) == (1, "")
    assert "9/999" in done.err
    assert domain.republished() == []


def test_a_missing_dead_letter_topic_is_named(command_line: CommandLine, real_kafka: RealKafka) -> None:
    """A topic that does not exist is no empty list."""
    command_line.write("hookline.toml", settings_text("never-made", real_kafka.bootstrap))
    done = command_line.run("dlq", "list")
    assert (done.code, done.out) == (1, "")
    assert "never-made-hook_dlq" in done.err
