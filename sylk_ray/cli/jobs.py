"""``sylk jobs``, ``sylk logs``, ``sylk cancel`` and ``sylk resume``."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer

from sylk_ray.cli.humanise import age, duration
from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.errors import InputError

JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id, or an unambiguous beginning of it.")]


class NoSuchTask(InputError):
    """The job has no task of that name."""

    code = "no_such_task"


def jobs(home: Home = None, json: Json = False) -> None:
    """List the jobs, the newest first, and say of those that wait why, and what lets them go on.

    Examples:

      sylk jobs

      sylk jobs --json
    """
    from rich.markup import escape
    from rich.table import Table

    from sylk_ray.cli.job_view import COLOURS
    from sylk_ray.cli.results import record_of, standing_told

    shell = Shell(home, json)
    found = shell.client().get("/jobs")
    shell.document({"jobs": found})
    if json:
        return
    if not found:
        shell.say("no jobs yet: `sylk submit JOB.yaml`")
        return
    table = Table("job", "name", "status", "tasks", "time", "submitted", "branch", box=None, pad_edge=False)
    records = [record_of(each) for each in found]
    for record in records:
        done = sum(task.state == "succeeded" for task in record.tasks.values())
        table.add_row(
            record.job_id,
            escape(record.name),
            f"[{COLOURS.get(record.status, 'dim')}]{record.status}[/]",
            f"{done}/{len(record.tasks)}",
            duration(record.duration_s) if record.duration_s else "-",
            age(record.submitted_at),
            escape(record.branch),
        )
    shell.show(table)
    waiting = [record for record in records if record.status.waiting]
    shell.say(*([""] if waiting else []), *map(standing_told, waiting))


def logs(
    job: JobId,
    task: Annotated[str, typer.Option(help="Only this task, and what its tools printed.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job is over.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print what happened in a job, a line an event.

    Following goes on while the job is queued, paused or suspended, and says so; it ends with 1 when the runtime is
    ended meanwhile.

    Examples:

      sylk logs j-7f3a

      sylk logs j-7f3a --follow

      sylk logs j-7f3a --task changelog
    """
    from sylk_ray.gateway.narration import narrate

    shell = Shell(home, json)
    client = shell.client()
    record = client.get(f"/jobs/{quote(job, safe='')}")
    if task and record["tasks"] and task not in record["tasks"] and task != "session-checks":
        raise NoSuchTask(
            f"job {record['job_id']} has no task {task!r}", hint=f"its tasks: {', '.join(record['tasks'])}"
        )
    kept: list[Any] = []
    for event in client.events(record["job_id"]) if follow else client.kept_events(record["job_id"]):
        if task and event.task != task:
            continue
        if not json:
            shell.say(*narrate(event))
        elif event.sequence or event.kind == "job.finished":
            kept.append(msgspec.to_builtins(event))
    output = client.get_text(f"/jobs/{record['job_id']}/log", task=task) if task else ""
    document = {"job_id": record["job_id"], "events": kept}
    shell.document({**document, "log": output} if task else document)
    if output and not json:
        shell.say("", output.rstrip("\n"))


def cancel(job: JobId, home: Home = None, json: Json = False) -> None:
    """Stop a job. Its tools are killed; its branch keeps what was merged.

    Examples:

      sylk cancel j-7f3a
    """
    from sylk_ray.cli.results import accepted_document, record_of

    shell = Shell(home, json)
    client = shell.client()
    before = record_of(client.get(f"/jobs/{quote(job, safe='')}"))
    record = before
    if not before.status.over:
        record = record_of(client.post(f"/jobs/{before.job_id}/cancel", {}))
    if not record.status.over:
        for event in client.events(record.job_id):
            if event.kind == "job.finished":
                record = record_of(event.data["record"])
    shell.document(accepted_document(record))
    if not json:
        told = f"was {record.status} already" if before.status.over else f"is {record.status}"
        shell.say(f"job {record.job_id} {told}; branch {record.branch}")


def resume(
    job: JobId,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the job to its end.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Let a paused or suspended job go on, with its session, from its last finished steps.

    Examples:

      sylk resume j-7f3a

      sylk resume j-7f3a --wait
    """
    from sylk_ray.cli.results import accepted_document, record_of, standing_told
    from sylk_ray.cli.submit import watch

    shell = Shell(home, json)
    client = shell.client()
    record = record_of(client.post(f"/jobs/{quote(job, safe='')}/resume"))
    if wait:
        raise typer.Exit(watch(shell, client, record))
    shell.document(accepted_document(record))
    if not json:
        shell.say(standing_told(record), f"follow it with `sylk logs {record.job_id} --follow`")
