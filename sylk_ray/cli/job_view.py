"""What is known of a running job from its events: a plain model, and the table that shows it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sylk_ray.cli.humanise import duration
from sylk_ray.gateway.narration import plain, shortened, waiting_told
from sylk_ray.messaging import Event
from sylk_ray.sessions.records import PLANNING

if TYPE_CHECKING:
    from rich.table import Table

    from sylk_ray.sessions import JobRecord, TaskRecord

COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "skipped": "dim",
    "running": "cyan",
    "queued": "blue",
    "paused": "magenta",
    "suspended": "magenta",
}


class TaskView:
    """One row."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = "pending"
        self.phase = ""
        self.loops: dict[str, int] = {}
        self.started_at = 0.0
        self.ended_at = 0.0
        self.line = ""

    def seconds(self, now: float) -> float | None:
        """How long it has run, or ran; None when it has not begun."""
        return (self.ended_at or now) - self.started_at if self.started_at else None


class JobView:
    """Events go in, in order; the rows say how things stand. Event times, so a view that joins late is right."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskView] = {}
        self.title = "preparing"
        self.standing = ""
        """Why it does not run now; empty when it does."""

    def apply(self, event: Event) -> None:
        """Take one event in."""
        data = event.data
        if event.kind == "job.started":
            self.title = f"{data.get('name')} on {data.get('branch')}"
            self.standing = ""
            for layer in data.get("layers", []):
                for name in layer:
                    self._task(name)
        if event.kind == "job.waiting":
            status = data.get("status")
            told = waiting_told(data.get("job"), status, data.get("waiting"))
            self.standing = "" if status == "running" else f"{status}: {told}"
        if event.kind == "job.cancelling":
            self.title += ", being cancelled"
        if event.kind in ("plan.begun", "plan.made", "person.asked", "person.decided") or event.task == PLANNING:
            self._planning(event, data)
        elif event.task:
            self._apply_to(self._task(event.task), event, data)

    def _planning(self, event: Event, data: dict[str, Any]) -> None:
        match event.kind:
            case "plan.begun":
                self.standing = "the Architect plans"
            case "task.progress":
                self.standing = f"the Architect plans: {data.get('line', '')}"
            case "plan.made":
                self.standing, self.tasks = "", {}
                for each in data.get("tasks", []):
                    self._task(str(each.get("name")))
            case "person.asked":
                self.standing = f"waits for an answer: sylk inbox ({data.get('id')})"
            case "person.decided":
                self.standing = ""
            case _:
                pass

    def _task(self, name: str) -> TaskView:
        return self.tasks.setdefault(name, TaskView(name))

    def _apply_to(self, task: TaskView, event: Event, data: dict[str, Any]) -> None:
        if event.kind in ("task.state", "checks.state"):
            task.state = str(data.get("state", task.state))
            task.phase = str(data.get("phase") or "")
            if task.state == "running":
                task.started_at = task.started_at or event.at
                task.ended_at = 0.0
            elif task.started_at:
                task.ended_at = event.at
                error: dict[str, Any] = data.get("error") or {}
                task.line = str(error.get("message") or data.get("reason") or "")
        elif event.kind == "pipeline.phase":
            task.phase = str(data.get("phase", ""))
            task.loops = data.get("loops", {})
        elif event.kind in ("task.progress", "action.done"):
            task.line = str(data.get("line") or data.get("summary") or "")


def live_table(view: JobView, spinner: str) -> Table:
    """The rows as they stand."""
    from rich.markup import escape
    from rich.table import Table

    now = time.time()
    title = f"{view.title}\n{view.standing}" if view.standing else view.title
    table = Table("task", "state", "loops I/T", "time", "", box=None, pad_edge=False, title=escape(title), expand=True)
    table.title_justify = "left"
    table.columns[4].ratio = 1
    table.columns[4].no_wrap = True
    for task in view.tasks.values():
        colour = COLOURS.get(task.state, "dim")
        running = task.state == "running"
        state = f"{spinner} {task.phase or 'starting'}" if running else task.state
        seconds = task.seconds(now)
        table.add_row(
            escape(task.name),
            f"[{colour}]{escape(state)}[/]",
            f"{task.loops.get('inspector', 0)}/{task.loops.get('tester', 0)}",
            "-" if seconds is None else duration(max(0.0, seconds)),
            f"[dim]{escape(plain(first_line(task.line)))}[/]",
        )
    return table


def final_table(record: JobRecord) -> Table:
    """What became of every task."""
    from rich.markup import escape
    from rich.table import Table

    tasks = _all_tasks(record)
    merges = any(task.loops.merge for task in tasks)
    loops = "loops I/T/M" if merges else "loops I/T"
    table = Table("task", "state", loops, "time", "files", "commit", "", box=None, pad_edge=False)
    for task in tasks:
        table.add_row(
            escape(task.name),
            f"[{COLOURS.get(task.state, 'dim')}]{task.state}[/]",
            f"{task.loops.inspector}/{task.loops.tester}" + (f"/{task.loops.merge}" if merges else ""),
            duration(task.duration_s) if task.started_at else "-",
            str(len(task.files_changed)),
            (task.commit or "-")[:10],
            escape(plain(first_line(_why(task)))),
        )
    return table


def failures_told(record: JobRecord) -> list[str]:
    """The errors of the failed tasks in full, as far as that is a matter of lines and not of pages."""
    told: list[str] = []
    for task in _all_tasks(record):
        if task.state == "failed" and task.error is not None:
            lines = shortened(task.error.message)
            hint = [f"hint: {task.error.hint}"] if task.error.hint else []
            told += ["", f"{task.name} failed:", *(f"  {plain(line)}" for line in (*lines, *hint))]
    return told


def _all_tasks(record: JobRecord) -> list[TaskRecord]:
    return [*record.tasks.values(), *([record.checks] if record.checks else [])]


def first_line(text: str) -> str:
    """The first line of a text, or nothing."""
    return text.strip().splitlines()[0] if text.strip() else ""


def _why(task: TaskRecord) -> str:
    return task.error.message if task.error else task.reason
