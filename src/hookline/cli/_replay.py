"""`hookline replay`: give a hook the past again."""

from __future__ import annotations

import asyncio
import shlex
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from hookline.contract import format_time
from hookline.service import Replay, ReplayRequest, build_hooks, run_service

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of
from ._times import moment_ms, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.contract import JsonValue
    from hookline.service import ReplayPlan, ReplayProgress, ReplayReport

_TELL_SECONDS = 5.0


def replay(
    hook: Annotated[str, typer.Option("--hook", metavar="NAME", help="The hook to run; no other runs.")],
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="From when: 2h, 7d, or a time in RFC 3339.")],
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Up to when; without it to the end, as it is now.")
    ] = None,
    type: Annotated[
        str, typer.Option("--type", metavar="GLOB", help="Only events of this type; * stands for anything.")
    ] = "*",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it; without it only the plan is shown.")] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run one hook again for the events of a time.

    Also for those that it is done with. Without --yes the plan is shown and nothing is run. Interrupted, the same command
    goes on where it was. Exit code: 0 when all is done, dead letters included; 1 when it is not; 2 for a mistake in usage.
    """
    since_ms, until_ms = moment_ms(since, "--since"), moment_ms(until, "--until")
    assert since_ms is not None  # noqa: S101 - None only for None
    if until_ms is not None and until_ms <= since_ms:
        raise typer.BadParameter(f"{until} is not after --since {since}, so nothing lies between", param_hint="--until")
    request = ReplayRequest(hook, since_ms, until_ms, type)
    raise typer.Exit(run_service(_replay(request, config, output, yes=yes)))


async def _replay(request: ReplayRequest, config: ConfigOption, output: Output, *, yes: bool) -> int:
    settings = settings_of(config)
    stopping = asyncio.Event()
    async with Replay(settings, build_hooks(settings), request) as replay:
        plan = await replay.plan()
        if not yes:
            _print_plan(plan, output)
            return 0
        if output is Output.TEXT:
            _print_plan(plan, output)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        telling = asyncio.create_task(_tell(replay, plan))
        try:
            report = await replay.run(plan, stopping)
        finally:
            telling.cancel()
    _print_report(plan, report, output)
    return 0 if report.is_complete else 1


async def _tell(replay: Replay, plan: ReplayPlan) -> None:
    """Tell on standard error how far it is, now and then."""
    while True:
        await asyncio.sleep(_TELL_SECONDS)
        typer.echo(_progress_line(plan, replay.progress()), err=True)


def _progress_line(plan: ReplayPlan, progress: ReplayProgress) -> str:
    counts = f"done {progress.done} of {plan.events}, {_others(progress)}"
    return f"{counts}; waits for {progress.waits_for}" if progress.waits_for else counts


def _others(counted: ReplayProgress | ReplayReport) -> str:
    return f"duplicates {counted.duplicates}, dead letters {counted.dead_letters}"


def _print_plan(plan: ReplayPlan, output: Output) -> None:
    if output is Output.JSON:
        print_json(_document(plan))
        return
    for line in _plan_lines(plan):
        typer.echo(line)


def _print_report(plan: ReplayPlan, report: ReplayReport, output: Output) -> None:
    if output is Output.JSON:
        print_json({**_document(plan), **_outcome(report)})
        return
    for line in _report_lines(plan, report):
        typer.echo(line)


def _report_lines(plan: ReplayPlan, report: ReplayReport) -> Iterator[str]:
    hook = plan.request.hook
    yield f"done {report.done}, {_others(report)}"
    if report.dead_letters:
        yield f"to see them: hookline dlq list --hook {shlex.quote(hook)}"
    if report.was_gone:
        yield f"group {plan.group} was gone: another process has ended this replay, or somebody has deleted the group"
    if report.held_because:
        yield f"stopped, hook {hook} is not fit for more: {report.held_because}"
        yield f"it runs on in the service; mend it, then go on: {_command(plan)}"
    elif not report.is_complete:
        yield f"not complete; to go on: {_command(plan)}"


def _outcome(report: ReplayReport) -> dict[str, JsonValue]:
    return {
        "done": report.done,
        "duplicates": report.duplicates,
        "dead_letters": report.dead_letters,
        "is_complete": report.is_complete,
        "held_because": report.held_because or None,
        "was_gone": report.was_gone,
    }


def _plan_lines(plan: ReplayPlan) -> Iterator[str]:
    request = plan.request
    until = "the end" if request.until_ms is None else time_text(request.until_ms)
    yield f"hook {request.hook}, events of type {request.type} from {time_text(request.since_ms)} to {until}"
    yield f"group {plan.group}{', which goes on where it was' if plan.goes_on else ''}"
    for each in plan.stretches:
        yield f"partition {each.partition}: offsets {each.start} to {each.end}, {each.events} events"
    yield f"{plan.events} events"
    if plan.is_over and plan.goes_on:
        yield f"all is done, only the group is left; to delete it: {_command(plan)}"
    elif plan.is_over:
        yield "nothing to run: the topic holds no event of that type and time that the hook wants"
    else:
        yield f"to run it, or to go on with it: {_command(plan)}"


def _command(plan: ReplayPlan) -> str:
    """Write the command with its times spelled out: it names the request that is gone on with."""
    request = plan.request
    words = ["hookline", "replay", "--hook", request.hook, "--since", format_time(request.since_ms)]
    words += [] if request.until_ms is None else ["--until", format_time(request.until_ms)]
    words += [] if request.type == "*" else ["--type", request.type]
    return shlex.join([*words, "--yes"])


def _document(plan: ReplayPlan) -> dict[str, JsonValue]:
    partitions: list[JsonValue] = [
        {"partition": each.partition, "start": each.start, "end": each.end, "events": each.events}
        for each in plan.stretches
    ]
    return {
        "hook": plan.request.hook,
        "group": plan.group,
        "goes_on": plan.goes_on,
        "events": plan.events,
        "partitions": partitions,
        "command": _command(plan),
    }
