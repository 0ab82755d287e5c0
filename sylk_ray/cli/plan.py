"""``sylk plan``: a job's tasks, and changing them while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import quote

import typer

from sylk_ray.cli.shell import Home, Json, Shell, user_name
from sylk_ray.errors import InputError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Look at a job's tasks, and change them as it runs."
)
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id; its beginning will do.")]
TaskName = Annotated[str, typer.Argument(metavar="TASK", help="The task's name.")]
After = Annotated[
    str | None, typer.Option("--after", metavar="A,B", help='Tasks that it waits for; "" for none.', show_default=False)
]
Priority = Annotated[str, typer.Option("--priority", help="critical, high, normal, low or background.")]
Why = Annotated[str, typer.Option("--why", help="For the record.")]


class NoAdjustments(InputError):
    """A file that does not list changes."""

    code = "no_adjustments"


@app.command("show")
def show(job: JobId, home: Home = None, json: Json = False) -> None:
    """Show the tasks of a job: what each waits for is before it.

    Examples:

      sylk plan show j-3f9a2c
    """
    shell = Shell(home, json)
    _told(shell, shell.client().get(f"/jobs/{_path(job)}"), "")


@app.command("add")
def add(
    job: JobId,
    task: TaskName,
    prompt: Annotated[str, typer.Option("--prompt", help="What its Engineer is to do, in words.")],
    after: After = None,
    priority: Priority = "normal",
    criterion: Annotated[
        list[str] | None, typer.Option("--criterion", help="What has to hold at its end; may be repeated.")
    ] = None,
    why: Why = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a task for agents that think. Others are added with `sylk plan adjust`.

    Examples:

      sylk plan add j-3f9a2c write_docs --prompt "Describe --json in README.md" --after add_json_flag
    """
    details = {"prompt": prompt, "priority": priority, "criteria": criterion or [], "depends_on": _names(after) or []}
    _adjust(Shell(home, json), job, [_change("add_node", task, literal=True, **details)], why, f"{task} is added")


@app.command("set")
def change(
    job: JobId,
    task: TaskName,
    prompt: Annotated[str, typer.Option("--prompt", help="What is to be done instead; it is begun anew.")] = "",
    after: After = None,
    priority: Annotated[str, typer.Option("--priority", help="critical, high, normal, low or background.")] = "",
    why: Why = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Change a task: what it waits for, how urgent it is, or what is to be done.

    Examples:

      sylk plan set j-3f9a2c write_docs --after add_json_flag,add_yaml_flag

      sylk plan set j-3f9a2c write_docs --priority critical
    """
    changes: list[dict[str, Any]] = []
    if prompt:
        # Actions that were declared would be done in place of the prompt.
        changes.append(_change("modify_node", task, prompt=prompt, literal=True, engineer=[]))
    if after is not None:
        changes.append(_change("change_deps", task, depends_on=_names(after)))
    if priority:
        changes.append(_change("reprioritize", task, priority=priority))
    if not changes:
        raise NoAdjustments("nothing is said that could change", hint="give --prompt, --after or --priority")
    _adjust(Shell(home, json), job, changes, why, f"{task} is changed")


@app.command("remove")
def remove(job: JobId, task: TaskName, why: Why = "", home: Home = None, json: Json = False) -> None:
    """Take a task out: if it runs it is ended, and nothing waits for it any more.

    Examples:

      sylk plan remove j-3f9a2c write_docs
    """
    _adjust(Shell(home, json), job, [_change("remove_node", task)], why, f"{task} is taken out")


@app.command("retry")
def retry(job: JobId, task: TaskName, home: Home = None, json: Json = False) -> None:
    """Try a task again that has failed, or was interrupted, while others of its job are at work.

    Examples:

      sylk plan retry j-3f9a2c add_json_flag
    """
    path = f"/jobs/{_path(job)}/tasks/{_path(task)}/retry"
    _post(Shell(home, json), path, {"who": user_name()}, f"{task} is tried again")


@app.command("skip")
def skip(job: JobId, task: TaskName, why: Why = "", home: Home = None, json: Json = False) -> None:
    """Do without a task: what depends on it goes on as if it had succeeded.

    Examples:

      sylk plan skip j-3f9a2c write_docs --why "they are generated"
    """
    path = f"/jobs/{_path(job)}/tasks/{_path(task)}/skip"
    body = {"who": user_name(), "why": why}
    _post(Shell(home, json), path, body, f"it goes on without {task}")


@app.command("adjust")
def adjust(
    job: JobId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A list of changes in YAML or JSON; - for stdin.")],
    why: Why = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Make several changes at once: all of them, or none when the job would not be sound.

    Each has a `type` (add_node, remove_node, modify_node, change_deps, reprioritize), a `node_id`, and `details` with
    fields of a task as in a job file.

    Examples:

      echo '[{type: remove_node, node_id: write_docs}]' | sylk plan adjust j-3f9a2c -
    """
    _adjust(Shell(home, json), job, _changes_in(file), why, "the plan is changed")


@app.command("replace")
def replace(
    job: JobId,
    job_file: Annotated[Path, typer.Argument(metavar="JOB.yaml", help="A job file, of which the tasks are taken.")],
    strategy: Annotated[
        str,
        typer.Option(
            help="merge_pending: what has begun stays. replace: it goes on only where it is the same. "
            "abort_and_replace: all that runs is ended."
        ),
    ] = "merge_pending",
    why: Why = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Take other tasks in place of those that the job has; what is done stays done.

    Examples:

      sylk plan replace j-3f9a2c better.yaml --strategy replace
    """
    body = {"job": _text_of(job_file), "source": str(job_file), "strategy": strategy, "why": why, "who": user_name()}
    path = f"/jobs/{_path(job)}/plan"
    _post(Shell(home, json), path, body, "the plan is another one now")


@app.command("ask")
def ask(
    job: JobId,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What is wanted as well, or instead.")],
    home: Home = None,
    json: Json = False,
) -> None:
    """Have the Architect change the plan, in words. What it proposes is shown by `sylk inbox`, for you to approve.

    Examples:

      sylk plan ask j-3f9a2c "describe it in the README as well"
    """
    body = {"why": words, "who": user_name()}
    told = "the Architect thinks about it; `sylk inbox` will show what it proposes"
    _post(Shell(home, json), f"/jobs/{_path(job)}/changes", body, told)


def _adjust(shell: Shell, job: str, changes: list[dict[str, Any]], why: str, told: str) -> None:
    body = {"adjustments": changes, "why": why, "who": user_name()}
    _post(shell, f"/jobs/{_path(job)}/adjust", body, told)


def _post(shell: Shell, path: str, body: dict[str, Any], told: str) -> None:
    _told(shell, shell.client().post(path, body), told)


def _told(shell: Shell, record: dict[str, Any], told: str) -> None:
    shell.document(record)
    if shell.json:
        return
    if told:
        shell.say(told)
    for task in record["tasks"].values():
        reason = f" ({task['reason']})" if task["reason"] else ""
        shell.say(f"  {task['name']}: {task['phase'] if task['state'] == 'running' else task['state']}{reason}")
    if not record["tasks"]:
        shell.say("  it has no tasks yet")


def _change(kind: str, task: str, **details: Any) -> dict[str, Any]:
    return {"type": kind, "node_id": task, "details": details}


def _changes_in(file: Path) -> list[dict[str, Any]]:
    import yaml

    try:
        found = yaml.safe_load(_text_of(file))
    except yaml.YAMLError as problem:
        raise NoAdjustments(f"{file} is no YAML: {problem}") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[object]", found)):
        raise NoAdjustments(f"{file} is no list of changes", hint="see `sylk plan adjust --help`")
    return cast("list[dict[str, Any]]", found)


def _text_of(file: Path) -> str:
    if str(file) == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise NoAdjustments(f"{file} cannot be read: {problem}") from None


def _names(after: str | None) -> list[str]:
    return [name.strip() for name in (after or "").split(",") if name.strip()]


def _path(part: str) -> str:
    return quote(part, safe="")
