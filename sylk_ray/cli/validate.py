"""``sylk validate``, and reading a job file from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.jobs import Job

JobFile = Annotated[Path, typer.Argument(metavar="JOB.yaml", help="The job file.")]
Variables = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A value for one of the job's `vars`; may be repeated."),
]
Repo = Annotated[Path | None, typer.Option("--repo", help="The git repository, instead of the job's own `repo`.")]


class WrongVariable(InputError):
    """A ``--set`` that is not of the form key=value."""

    code = "wrong_variable"


def variables_of(given: list[str] | None) -> dict[str, str]:
    """``["a=1"]`` as a mapping; raises WrongVariable."""
    found: dict[str, str] = {}
    for each in given or []:
        name, separator, value = each.partition("=")
        if not separator or not name:
            raise WrongVariable(f"--set {each!r} is not KEY=VALUE", hint="for example --set version=1.2")
        found[name] = value
    return found


def read_job(path: Path, variables: list[str] | None, repo: Path | None = None) -> Job:
    """The job in a file, sound; raises JobProblems with everything that is wrong."""
    from sylk_ray.jobs import load_job_file

    return load_job_file(path, variables=variables_of(variables), repo=repo)


def validate(
    job_file: JobFile, variables: Variables = None, repo: Repo = None, home: Home = None, json: Json = False
) -> None:
    """Check a job file without running it. Exits with 2 when something is wrong, and says what and where.

    A valid one is shown as layers: the tasks of a layer may run at the same time.

    Examples:

      sylk validate job.yaml

      sylk validate job.yaml --set version=1.2
    """
    from sylk_ray.config import load_settings
    from sylk_ray.dag import layers
    from sylk_ray.jobs import check_models, graph_of

    shell = Shell(home, json)
    job = read_job(job_file, variables, repo)
    check_models(job, load_settings(home=shell.home))
    found = [list(layer) for layer in layers(graph_of(job))]
    shell.document({"valid": True, "name": job.name, "repo": job.repo, "layers": found})
    if json:
        return
    shell.say(f"{job_file} is valid: {job.name}, {len(job.tasks)} task(s) for {job.repo}")
    for number, layer in enumerate(found, 1):
        shell.say(f"  layer {number}: {', '.join(layer)}")
    if job.finally_ is not None:
        shell.say("  finally: checks of the session's branch")
