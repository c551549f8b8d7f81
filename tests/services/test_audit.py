from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from hookline.contract import event_from_json
from hookline.errs import Verdict, classify
from hookline.integrations import Audit, AuditFileError, AuditFileLockedError, AuditOptions
from tests.unit.integrations.events import failed_batch
from tests.unit.integrations.logs import lines_of as logged

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITER = """
import asyncio, sys
from pathlib import Path
from hookline.integrations import Audit, AuditOptions
from tests.unit.integrations.events import failed_batch

async def main():
    async with Audit("audit", AuditOptions(path=Path(sys.argv[1]))) as audit:
        print("open", flush=True)
        for number in range(int(sys.argv[2])):
            await asyncio.gather(*(audit.handle(failed_batch(number * 8 + lane)) for lane in range(8)))
            print(number, flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


@contextmanager
def writer_process(path: Path, rounds: int) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Run another process that writes rounds of eight events to the file, a line for each round on disk."""
    command = [sys.executable, "-c", WRITER, str(path), str(rounds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process, process.stdout
        finally:
            process.kill()


def last_round_before_kill(process: subprocess.Popen[str], output: IO[str]) -> int:
    """Let the writer get going, kill it, and return the last round that it said was on disk."""
    rounds = [output.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    rounds += [line for line in output if line.endswith("\n")]
    return int(rounds[-1])


def stopped(process: subprocess.Popen[str]) -> int:
    process.kill()
    return process.wait()


async def outage_of(audit: Audit, number: int = 778) -> BaseException | None:
    """Return what kept the event from being written; it must count as an outage, not as a bad event."""
    [failure] = await asyncio.gather(audit.handle(failed_batch(number)), return_exceptions=True)
    assert failure is not None
    assert classify(failure) is Verdict.INFRA_DEPENDENCY_RETRYABLE
    return failure.__cause__


def audit_of(path: Path) -> Audit:
    return Audit("audit", AuditOptions(path=path))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


async def test_an_event_is_one_line_with_everything(tmp_path: Path) -> None:
    """A line is the event's JSON form, readable back, and the time it was received."""
    event = failed_batch(error="merge\nconflict \u2028 ☃")
    async with audit_of(tmp_path / "audit.jsonl") as audit:
        await audit.handle(event)
    [line] = lines_of(tmp_path / "audit.jsonl")
    assert line.pop("received_at").endswith("Z")
    assert event_from_json(line) == event


async def test_a_thousand_concurrent_events_are_a_thousand_lines_and_few_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Concurrent handles share one fsync, and each event is on disk once, in the order it came."""
    syncs: list[int] = []
    real = os.fsync

    def counts(fd: int) -> None:
        syncs.append(fd)
        real(fd)

    async with audit_of(tmp_path / "audit.jsonl") as audit:
        monkeypatch.setattr(os, "fsync", counts)
        await asyncio.gather(*(audit.handle(failed_batch(number)) for number in range(1000)))
    assert [line["subject"] for line in lines_of(tmp_path / "audit.jsonl")] == [f"batch-{n}" for n in range(1000)]
    assert len(syncs) <= 3


async def test_a_repeat_adds_no_line(tmp_path: Path) -> None:
    """P4: (source, id) is written once: in one batch, in a later one, and after a restart."""
    path = tmp_path / "audit.jsonl"
    async with audit_of(path) as audit:
        await asyncio.gather(*(audit.handle(failed_batch()) for _ in range(10)))
        await audit.handle(failed_batch())
    async with audit_of(path) as audit:
        await audit.handle(failed_batch())
        await audit.handle(failed_batch(version=5))
    assert [line["version"] for line in lines_of(path)] == [4, 5]


@pytest.mark.parametrize("torn", [b'{"id":"submitqueue/batch.fai', b"{", b"\0\0\0\0", b'{"id":"1","source":"s"}'])
@pytest.mark.parametrize("whole", [0, 2])
async def test_a_torn_last_line_is_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, torn: bytes, whole: int
) -> None:
    """P1: a line that a crash left without its end is cut and logged; whole lines stay, and the event can come again."""
    path = tmp_path / "audit.jsonl"
    async with audit_of(path) as audit:
        for number in range(whole):
            await audit.handle(failed_batch(number))
    with path.open("ab") as file:
        file.write(torn)
    async with audit_of(path) as audit:
        await audit.handle(failed_batch(99))
    assert [line["subject"] for line in lines_of(path)] == [*(f"batch-{n}" for n in range(whole)), "batch-99"]
    assert [(log["event"], log["bytes"]) for log in logged(caplog)] == [("audit_torn_line_cut", len(torn))]


async def test_a_killed_writer_loses_nothing_that_it_was_told_is_written(tmp_path: Path) -> None:
    """P1: after SIGKILL every acknowledged event stands in the file, once, and redelivery adds no second line."""
    path = tmp_path / "audit.jsonl"
    with writer_process(path, 10_000) as (process, output):
        acknowledged = await asyncio.to_thread(last_round_before_kill, process, output)
    async with audit_of(path) as audit:
        await asyncio.gather(*(audit.handle(failed_batch(number)) for number in range((acknowledged + 2) * 8)))
    subjects = [line["subject"] for line in lines_of(path)]
    assert len(subjects) == len(set(subjects))
    assert {f"batch-{number}" for number in range((acknowledged + 1) * 8)} <= set(subjects)


async def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """One file has one writer: another process gets a typed error, and the file once the first one is gone."""
    path = tmp_path / "audit.jsonl"
    with writer_process(path, 0) as (process, _):
        with pytest.raises(AuditFileLockedError):
            await audit_of(path).__aenter__()
        await asyncio.to_thread(stopped, process)
        async with audit_of(path) as audit:
            await audit.handle(failed_batch())
    assert len(lines_of(path)) == 1


async def test_a_second_hook_of_one_process_is_refused(tmp_path: Path) -> None:
    """Two hooks on one file would not know each other's identities: the second is refused, and may try again."""
    path = tmp_path / "audit.jsonl"
    second = audit_of(path)
    async with audit_of(path):
        with pytest.raises(AuditFileLockedError):
            await second.__aenter__()
    async with second:
        await second.handle(failed_batch())
    assert len(lines_of(path)) == 1


@pytest.mark.parametrize("content", [b"root:x:0:0\n", b"root:x:0:0", b'{"id":"without a source"}\n', b"[]\n", b"1"])
async def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """A path to something else is refused, and not a byte of it is changed."""
    path = tmp_path / "passwd"
    path.write_bytes(content)
    with pytest.raises(AuditFileError):
        await audit_of(path).__aenter__()
    assert path.read_bytes() == content


async def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe is refused by name, without waiting for its other end; a missing directory is the system's error."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AuditFileError):
        await audit_of(tmp_path / "pipe").__aenter__()
    with pytest.raises(FileNotFoundError):
        await audit_of(tmp_path / "missing" / "audit.jsonl").__aenter__()


async def test_an_unreadable_line_in_the_middle_is_kept_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged line is no reason to lose the others: it stays, is logged, and its event may be written again."""
    path = tmp_path / "audit.jsonl"
    async with audit_of(path) as audit:
        await audit.handle(failed_batch(1))
    with path.open("ab") as file:
        file.write(b'{"id":"batch\n[[[[\n\xff\n')
    async with audit_of(path) as audit:
        await audit.handle(failed_batch(1))
        await audit.handle(failed_batch(2))
    assert [(log["event"], log["lines"]) for log in logged(caplog)] == [("audit_lines_unreadable", 3)]
    assert len(path.read_bytes().splitlines()) == 5


async def test_a_full_disk_fails_the_batch_and_leaves_the_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1: when a write breaks off in the middle the events fail, half a line does not stay, and the retry is written."""
    path = tmp_path / "audit.jsonl"
    real = os.write

    def full(fd: int, data: memoryview) -> int:
        monkeypatch.setattr(os, "write", no_space)
        return real(fd, data[: len(data) // 2])

    def no_space(_fd: int, _data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    async with audit_of(path) as audit:
        await audit.handle(failed_batch(1))
        monkeypatch.setattr(os, "write", full)
        assert isinstance(await outage_of(audit, 2), OSError)
        monkeypatch.setattr(os, "write", real)
        assert [line["subject"] for line in lines_of(path)] == ["batch-1"]
        await audit.handle(failed_batch(3))
        await audit.handle(failed_batch(2))
    assert [line["subject"] for line in lines_of(path)] == ["batch-1", "batch-3", "batch-2"]


async def test_a_failed_sync_is_no_success_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1: after a failed fsync the line counts as not written; the retry writes and syncs it anew."""
    path = tmp_path / "audit.jsonl"
    real = os.fsync
    synced: list[int] = []

    def fails(_fd: int) -> None:
        raise OSError(5, "Input/output error")

    def counts(fd: int) -> None:
        synced.append(fd)
        real(fd)

    async with audit_of(path) as audit:
        monkeypatch.setattr(os, "fsync", fails)
        assert isinstance(await outage_of(audit), OSError)
        assert path.read_bytes() == b""
        monkeypatch.setattr(os, "fsync", counts)
        await audit.handle(failed_batch())
    assert len(synced) == 1
    assert len(lines_of(path)) == 1


async def test_a_file_moved_away_is_begun_anew(tmp_path: Path) -> None:
    """A rotation by rename needs no signal: the next event opens a new file, and the old one is complete."""
    path, old = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    async with audit_of(path) as audit:
        await audit.handle(failed_batch(1))
        path.rename(old)
        await audit.handle(failed_batch(2))
    assert [line["subject"] for line in lines_of(old)] == ["batch-1"]
    assert [line["subject"] for line in lines_of(path)] == ["batch-2"]


async def test_a_rotation_that_goes_wrong_is_an_outage(tmp_path: Path) -> None:
    """P9: when the path is taken by something else, or is gone, events wait and are written once it is free again."""
    path = tmp_path / "logs" / "audit.jsonl"
    path.parent.mkdir()
    async with audit_of(path) as audit:
        path.rename(tmp_path / "old")
        path.write_text("not ours\n")
        assert isinstance(await outage_of(audit), AuditFileError)
        path.unlink()
        path.parent.rmdir()
        assert isinstance(await outage_of(audit), FileNotFoundError)
        path.parent.mkdir()
        async with audit_of(path):
            assert isinstance(await outage_of(audit), AuditFileLockedError)
        await audit.handle(failed_batch())
    assert len(lines_of(path)) == 1


async def test_entering_again_works(tmp_path: Path) -> None:
    """A hook that was left can be entered again."""
    audit = audit_of(tmp_path / "audit.jsonl")
    for number in range(2):
        async with audit:
            await audit.handle(failed_batch(number))
    assert len(lines_of(tmp_path / "audit.jsonl")) == 2
