"""Keeping the record of a job while it runs: what changed, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sylk_ray.dag import NodeState, Transition
from sylk_ray.sessions.records import ErrorRecord, JobRecord, JobState, TaskRecord


class JobLedger:
    """The record of a running job; every change makes a new one, so that what was handed out stays as it was."""

    def __init__(self, record: JobRecord) -> None:
        self.record = record
        self._touched: set[str] = set()

    def take_touched(self) -> set[str]:
        """The tasks that have changed since this was last called."""
        touched, self._touched = self._touched, set()
        return touched

    def begin(self, layers: Iterable[Iterable[str]], now: float) -> None:
        """The job runs from now on, with all its tasks ahead of it."""
        tasks = {name: TaskRecord(name, layer=depth) for depth, layer in enumerate(layers) for name in layer}
        self.change(status=JobState.RUNNING, started_at=now, tasks=tasks)

    def amend(self, layers: Iterable[Iterable[str]]) -> None:
        """The graph has changed: new tasks are ahead, and those that are not in it any more are forgotten."""
        known = self.record.tasks
        tasks = {
            name: msgspec.structs.replace(known.get(name) or TaskRecord(name), layer=depth)
            for depth, layer in enumerate(layers)
            for name in layer
        }
        self.change(tasks=tasks)

    def change(self, **changes: Any) -> None:
        """Change the job itself."""
        self.record = msgspec.structs.replace(self.record, **changes)

    def task(self, name: str, **changes: Any) -> TaskRecord:
        """Change a task."""
        task = msgspec.structs.replace(self.record.tasks[name], **changes)
        self.change(tasks={**self.record.tasks, name: task})
        self._touched.add(name)
        return task

    def moved(self, move: Transition) -> TaskRecord:
        """A node of the graph has moved from one state to another."""
        task = self.record.tasks[move.node]
        changes: dict[str, Any] = {"state": move.target.value, "attempts": max(task.attempts, move.attempt)}
        if move.target is NodeState.RUNNING:
            changes |= {"started_at": task.started_at or move.at, "reason": "", "error": None}
        elif move.target is NodeState.PENDING:
            changes |= {"phase": "", "reason": move.reason, "error": None}
        elif move.reason:
            changes["reason"] = move.reason
        if move.target is NodeState.FAILED and task.error is None:
            changes["error"] = ErrorRecord("task_failed", move.reason)
        if task.started_at:
            changes["duration_s"] = round(move.at - task.started_at, 3)
        return self.task(move.node, **changes)

    def checks(self, name: str, now: float, **changes: Any) -> TaskRecord:
        """Change the session-wide checks."""
        checks = self.record.checks or TaskRecord(name)
        if "state" in changes and checks.started_at:
            changes["duration_s"] = round(now - checks.started_at, 3)
        checks = msgspec.structs.replace(checks, **changes)
        self.change(checks=checks)
        return checks

    def failure(self) -> ErrorRecord:
        """Why the job failed, of its failed tasks."""
        failed = [task for task in self.record.tasks.values() if task.state == NodeState.FAILED]
        names = ", ".join(task.name for task in failed)
        if not failed:
            ended = [task for task in self.record.tasks.values() if task.state == NodeState.CANCELLED]
            return ErrorRecord("tasks_interrupted", f"{', '.join(task.name for task in ended)} did not come to an end")
        # Of several tasks each has a hint of its own; one of them here would pass for the answer to all.
        error = failed[0].error if len(failed) == 1 else None
        return ErrorRecord("tasks_failed", f"{names} failed", error.hint if error else "")
