"""From the text of a job to a Job, or to every problem in it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from sylk_ray import dag
from sylk_ray.home import expanded
from sylk_ray.jobs.document import Document, Place, read_document
from sylk_ray.jobs.model import Job
from sylk_ray.jobs.problems import JobProblems, Problem, told_path
from sylk_ray.jobs.syntax import MAX_CHARACTERS
from sylk_ray.jobs.translate import problems_of
from sylk_ray.tools.reading import NARROWER, opened_by

_MAX_BYTES = MAX_CHARACTERS


def load_job_file(
    path: Path,
    *,
    variables: Mapping[str, str] | None = None,
    repo: Path | None = None,
) -> Job:
    """Read a job file; ``repo`` overrides its own. The repo becomes absolute. Raises JobProblems."""
    source = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JobProblems(source, [_outside("", f"the job file cannot be read: {reason}", "")]) from None
    if len(content) > _MAX_BYTES:
        raise JobProblems(source, [_outside("", f"the file is larger than {_MAX_BYTES:,} bytes", "split the job")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        problem = Problem("", line, column, "the file is not UTF-8 text", "save it as UTF-8")
        raise JobProblems(source, [problem]) from None
    job = load_job(text, source=source, variables=variables)
    home = path.absolute().parent / expanded(Path(job.repo)) if repo is None else repo.absolute()
    return job.model_copy(update={"repo": str(home.resolve())})


def load_job(text: str, *, source: str, variables: Mapping[str, str] | None = None) -> Job:
    """``variables`` override the job's own; ``source`` names the file in problems. Raises JobProblems."""
    document = read_document(text, source)
    values, problems = _with_variables(document, variables or {})
    problems.extend(_graph_problems(document))
    try:
        job = Job.model_validate(values)
    except ValidationError as error:
        problems.extend(problems_of(error, Job, document.root))
        raise JobProblems(source, problems) from None
    problems.extend(_grant_problems("read", job.sandbox.read, document.root))
    problems.extend(_grant_problems("write", job.sandbox.write, document.root))
    if problems:
        raise JobProblems(source, problems)
    return job


def _with_variables(document: Document, given: Mapping[str, str]) -> tuple[dict[str, Any], list[Problem]]:
    """The document with its variables as the person wrote them: ``version: 1.10`` means the text 1.10."""
    own: object = document.data.get("vars", {})
    if not isinstance(own, dict):
        return document.data, []
    declared = cast("dict[str, Any]", own)
    place = document.root.at("vars")
    written = {name: _as_written(value, place.at(name) if place else None) for name, value in declared.items()}
    problems = [
        _outside(
            f"--set {name}",
            f'the job has no variable "{name}"',
            dag.did_you_mean(name, declared) or _known_variables(declared),
        )
        for name in given
        if name not in declared
    ]
    return {
        **document.data,
        "vars": {**written, **{k: v for k, v in given.items() if k in declared}},
    }, problems


def _as_written(value: object, place: Place | None) -> object:
    if isinstance(value, bool | int | float) and place is not None:
        return place.text
    return value


def _known_variables(declared: Mapping[str, Any]) -> str:
    return f"its variables: {', '.join(declared)}" if declared else 'declare it under "vars:"'


def _graph_problems(document: Document) -> Iterator[Problem]:
    """Found on the data, so that they are reported along with what is wrong inside the tasks."""
    tasks: object = document.data.get("tasks")
    place = document.root.at("tasks")
    if not isinstance(tasks, dict) or place is None:
        return
    nodes = [
        dag.Node(name, "pipeline", tuple(_dependencies(task)))
        for name, task in cast("dict[str, object]", tasks).items()
    ]
    for problem in dag.validate(nodes):
        path, line, column = _where(problem, place)
        yield Problem(told_path(path), line, column, problem.message, problem.hint)


def _grant_problems(what: Literal["read", "write"], paths: Sequence[str], root: Place) -> Iterator[Problem]:
    """Grants that no tool would be given. One that is relative to a worktree is looked at once there is one."""
    for index, path in enumerate(paths):
        try:
            absolute = Path(path).expanduser()
            secret = opened_by(absolute.resolve(), what) if absolute.is_absolute() else None
        except (OSError, RuntimeError, ValueError):
            continue  # it cannot be followed here: the run tells why, if it cannot there
        if secret is not None:
            place = _place_of(root, "sandbox", what, index)
            message = f"{path} cannot be granted: no tool may read {secret}"
            yield Problem(told_path(("sandbox", what, index)), place.line, place.column, message, NARROWER)


def _place_of(root: Place, *path: str | int) -> Place:
    """Where a value stands, or the nearest that has it."""
    place = root
    for step in path:
        place = place.at(step) or place
    return place


def _dependencies(task: object) -> Iterator[str]:
    found: object = cast("dict[str, object]", task).get("depends_on") if isinstance(task, dict) else None
    if isinstance(found, list):
        yield from (each for each in cast("list[object]", found) if isinstance(each, str))


def _where(problem: dag.Problem, tasks: Place) -> tuple[tuple[str | int, ...], int, int]:
    """The entry of depends_on that a problem is about (its last, if repeated), else the name of the task."""
    task = tasks.at(problem.node)
    listed = task.at("depends_on") if task else None
    if problem.dependency and listed:
        indexes = [index for index, item in enumerate(listed.items) if item.text == problem.dependency]
        item = listed.items[indexes[-1]]
        return ("tasks", problem.node, "depends_on", indexes[-1]), item.line, item.column
    return ("tasks", problem.node), *tasks.keys[problem.node]


def _outside(where: str, message: str, hint: str) -> Problem:
    return Problem(where, 0, 0, message, hint)
