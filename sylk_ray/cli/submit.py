"""``sylk submit``: from a job file to a branch."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.cli.validate import Repo, Variables, read_job
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.cli.state import RuntimeState
    from sylk_ray.gateway.client import GatewayClient
    from sylk_ray.jobs import Job
    from sylk_ray.sessions import JobRecord


class NoSuchJobFile(InputError):
    """Neither a job file nor a request."""

    code = "no_such_job_file"


JobOrRequest = Annotated[
    str, typer.Argument(metavar="JOB.yaml|REQUEST", help="The job file, or in words what is to be done.")
]


def submit(
    wanted: JobOrRequest,
    repo: Repo = None,
    session: Annotated[str, typer.Option(help="The session's name; its branch is sylk/NAME.")] = "",
    variables: Variables = None,
    wait: Annotated[bool, typer.Option(help="Follow the job to its end.")] = True,
    queue: Annotated[bool, typer.Option(help="Stand in line when as many sessions are at work as may be.")] = True,
    direct: Annotated[bool, typer.Option("--direct", help="Start it without a Ray job on the dashboard.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Carry the plan of a request out without asking.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Run a job, or have a request in plain words planned and carried out, and leave a branch. Starts a runtime if none
    runs.

    A request needs a model (README, "Models"). Its plan is shown, and carried out when you approve it: on the terminal,
    or with `sylk approve`; you can say instead what should be different.

    Your checkout and your branches are not touched: the session works on a branch of its own, sylk/NAME, from HEAD.
    When enough sessions are at work the job is queued, says so, and starts by itself. Exits with 0 when the job
    succeeded, 1 when it failed, was cancelled or has no room (--no-queue), or the runtime was ended meanwhile, 2 when
    the job or the repository will not do, 3 when the runtime cannot be reached.

    Examples:

      sylk submit job.yaml

      sylk submit job.yaml --repo ~/src/project --session tidy-up --set version=1.2

      sylk submit job.yaml --wait --json > result.json

      sylk submit job.yaml --no-wait --no-queue

      sylk submit "Add a --json flag to the report command, with tests" --repo .
    """
    from sylk_ray.cli.lifecycle import Wanted, bring_up, find_running
    from sylk_ray.cli.results import accepted_document, record_of, standing_told
    from sylk_ray.config import load_settings
    from sylk_ray.gateway.client import GatewayClient
    from sylk_ray.jobs import check_models
    from sylk_ray.sessions.repository import inspect_repository

    shell = Shell(home, json)
    job = _job_of(wanted, variables, repo)
    if yes:
        job = job.model_copy(update={"policy": job.policy.model_copy(update={"approval": "auto"})})
    asyncio.run(inspect_repository(Path(job.repo)))
    if find_running(shell.home) is None:
        # What would be started has these settings: there is no need to start it to be refused.
        check_models(job, load_settings(home=shell.home))
    state, _ = bring_up(shell.home, Wanted(), shell.note)
    client = GatewayClient(shell.home)
    through_ray = bool(state.dashboard_url) and not direct
    order = {
        "job": job.model_dump(mode="json"),
        "source": wanted if job.request is None else "request",
        "repo": job.repo,
        "session": session,
        "start": not through_ray,
        "queue": queue,
    }
    record = record_of(client.post("/jobs", order))
    try:
        record = _started(shell, client, state, record, through_ray=through_ray, queue=queue)
    except BaseException:
        _abandon(client, record)
        raise
    if not wait:
        shell.document(accepted_document(record))
        if not json:
            shell.say(standing_told(record), f"it works on branch {record.branch}")
            shell.say(f"follow it with `sylk logs {record.job_id} --follow`")
        return
    raise typer.Exit(watch(shell, client, record))


def _job_of(wanted: str, variables: list[str] | None, repo: Path | None) -> Job:
    """Of a file, or of a request: what is no file, and has the form of none. Raises JobProblems and WrongVariable."""
    path = Path(wanted)
    if "\n" not in wanted and (_is_there(path) or not _is_said(wanted)):
        if not path.suffix and not _is_there(path):
            hint = 'a request in words has more than one: sylk submit "Add a --json flag to the report command"'
            raise NoSuchJobFile(f"there is no job file {wanted}", hint=hint)
        return read_job(path, variables, repo)
    from sylk_ray.jobs import Job

    if variables:
        raise InputError("--set is for the `vars` of a job file", hint="say it in the request")
    return Job(name=_name_of(wanted), request=wanted, repo=str((repo or Path()).absolute().resolve()), tasks={})


def _is_said(wanted: str) -> bool:
    if len(wanted.split()) < 2:
        return False
    # A name with blanks is one, where its folder is there.
    return not (wanted.endswith((".yaml", ".yml", ".json")) and "/" in wanted and _is_there(Path(wanted).parent))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # words can be too long for a name
        return False


def _name_of(request: str) -> str:
    words = re.findall(r"[a-z0-9]+", request.lower())
    name = "-".join(words[:6])[:40].strip("-")
    return name if name[:1].isalpha() else f"request-{name}".rstrip("-")


def watch(shell: Shell, client: GatewayClient, record: JobRecord) -> int:
    """Follow a job to its end and show what became of it; returns the exit code."""
    from sylk_ray.cli.follow import Detached, follow
    from sylk_ray.cli.job_view import failures_told, final_table
    from sylk_ray.cli.results import accepted_document, exit_code_of, job_document

    try:
        record = follow(shell, client, record.job_id)
    except Detached:
        shell.document(accepted_document(record))
        shell.note(f"left; the job goes on: `sylk logs {record.job_id} --follow`, `sylk cancel {record.job_id}`")
        return 0
    shell.document(job_document(record))
    if not shell.json:
        shell.say("")
        shell.show(final_table(record))
        shell.say(*failures_told(record), "", *_told(record))
    return exit_code_of(record)


def _started(
    shell: Shell, client: GatewayClient, state: RuntimeState, record: JobRecord, *, through_ray: bool, queue: bool
) -> JobRecord:
    from sylk_ray.gateway.narration import grants_told, plain

    shell.note(f"job {record.job_id}, session {record.session}, branch {record.branch}")
    grants: dict[str, Any] = {name: getattr(record.grants, name) for name in ("read", "write", "network", "env")}
    for line in grants_told(grants):
        shell.note(f"granted: its tools {plain(line)}")
    for warning in record.warnings:
        shell.note(f"note: {plain(warning)}")
    if not through_ray:
        return record
    from sylk_ray.cli.ray_jobs import run_through_ray

    return run_through_ray(state.dashboard_url, shell.home, client, record, shell.note, queue=queue)


def _abandon(client: GatewayClient, record: JobRecord) -> None:
    """Interrupted before it was followed: nobody would ever start it, or know of it."""
    import contextlib

    from sylk_ray.errors import SylkError

    with contextlib.suppress(SylkError):
        client.post(f"/jobs/{record.job_id}/cancel", {"reason": "its submission was interrupted"}, timeout=10)


def _told(record: JobRecord) -> list[str]:
    from sylk_ray.cli.humanise import duration

    commit = f" at {record.commit[:10]}" if record.commit else ""
    lines = [f"{record.status} after {duration(record.duration_s)}: branch {record.branch}{commit}"]
    if record.error is not None:
        lines += [record.error.message, *([f"hint: {record.error.hint}"] if record.error.hint else [])]
    if record.commit and record.commit != record.base:
        lines.append(f"look at it: git -C {record.repo} log -p {record.base[:10]}..{record.branch}")
    return lines
