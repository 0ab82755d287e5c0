"""A job's record as ``--json`` prints it: a form that programs may rely on."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.gateway.narration import waiting_told
from sylk_ray.sessions import JobRecord, JobState, TaskRecord
from sylk_ray.sessions.records import ErrorRecord


def job_document(record: JobRecord) -> dict[str, Any]:
    """The result of a job."""
    document: dict[str, Any] = {
        "job_id": record.job_id,
        "session_id": record.session_id,
        "status": record.status.value,
        "branch": record.branch,
        "commit": record.commit,
        "duration_s": record.duration_s,
        "tasks": {name: task_document(task) for name, task in record.tasks.items()},
    }
    if record.checks is not None:
        document["checks"] = task_document(record.checks)
    if record.error is not None:
        document["error"] = _error(record.error)
    return document


def task_document(task: TaskRecord) -> dict[str, Any]:
    """The result of one task."""
    return {
        "state": task.state,
        "attempts": task.attempts,
        "loops": {"inspector": task.loops.inspector, "tester": task.loops.tester},
        "duration_s": task.duration_s,
        "files_changed": task.files_changed,
        "commit": task.commit,
        "error": _error(task.error) if task.error else None,
    }


def _error(error: ErrorRecord) -> dict[str, str]:
    return {"type": error.type, "message": error.message, "hint": error.hint}


def accepted_document(record: JobRecord) -> dict[str, str]:
    """A job that was taken and is not waited for; ``waiting`` says why it does not run, when it does not."""
    told = {
        "job_id": record.job_id,
        "session_id": record.session_id,
        "branch": record.branch,
        "status": record.status.value,
    }
    return {**told, "waiting": record.waiting} if record.waiting else told


def standing_told(record: JobRecord) -> str:
    """How a job stands, in a line: its state, and when it waits, why and what lets it go on."""
    if record.status.over:
        return f"job {record.job_id}: {record.status}"
    if not record.status.waiting:
        return f"job {record.job_id} is {record.status}"
    return f"job {record.job_id} is {record.status}: {waiting_told(record.job_id, record.status, record.waiting)}"


def exit_code_of(record: JobRecord) -> int:
    """0 when the job succeeded."""
    return 0 if record.status is JobState.SUCCEEDED else 1


def record_of(told: Any) -> JobRecord:
    """A record as the gateway sends it."""
    return msgspec.convert(told, JobRecord)
