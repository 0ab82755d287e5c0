"""How a job and its tasks are going, in words and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from sylk_ray.messaging import Event
from sylk_ray.pipelines.messages import TaskStatus
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.records import TaskRecord
from sylk_ray.speech import Heard
from sylk_ray.tools import Coverage
from sylk_ray.tools.coverage import places_missed

SHOWN_FILES = 10
SHOWN_FAILURES = 20
SHOWN_PLACES = 50
SEVERITIES = ("error", "warning", "info")


def describe_task(record: TaskRecord, status: TaskStatus | None, now: float) -> str:
    """Some lines on one task; ``status`` is what its pipeline says while it is at work."""
    phase = status.phase if status is not None else record.phase
    head = f"{record.name}: {record.state}" + (f", {phase}" if phase and record.state == "running" else "")
    if record.attempts > 1:
        head += f", attempt {record.attempts}"
    if record.started_at:
        head += f", {_seconds(record, status, now):.0f} s"
    lines = [head]
    loops = status.loops if status is not None else record.loops
    sent_back = [f"by the {who} {times}x" for who, times in _loops(loops) if times]
    if sent_back:
        lines.append(f"sent back {' and '.join(sent_back)}")
    if record.handoffs:
        lines.append(f"handed to another pipeline {record.handoffs}x")
    if record.waived:
        lines.append(f"goes without the {' and the '.join(record.waived)}")
    lines += [f"a person accepts {override}" for override in record.overridden]
    if record.reason:
        lines.append(f"because {record.reason}" if not record.reason.startswith("because") else record.reason)
    if record.error is not None:
        lines.append(f"error: {record.error.message.splitlines()[0]}")
    files = status.files_changed if status is not None else record.files_changed
    if files:
        more = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
        lines.append(f"changed: {', '.join(files[:SHOWN_FILES])}{more}")
    if record.commit:
        lines.append(f"merged as {record.commit[:10]}")
    return "\n".join(lines)


def describe_job(record: JobRecord, tasks: Iterable[TaskRecord], *, detailed: bool, now: float) -> str:
    """A line on the job, one on what runs, and with ``detailed`` one on each task."""
    known = list(tasks)
    states = Counter(task.state for task in known)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    lines = [f"job {record.name} ({record.job_id}) is {record.status}: {counts or 'no tasks yet'}"]
    if detailed:
        lines += [f"  {describe_task(task, None, now).splitlines()[0]}" for task in known]
    else:
        lines += [f"  {task.name}: {task.phase or task.state}" for task in known if task.state == "running"]
    if record.checks is not None:
        lines.append(f"  the session's checks: {record.checks.phase or record.checks.state}")
    if record.error is not None:
        lines.append(f"error: {record.error.message}")
    return "\n".join(lines)


def task_data(record: TaskRecord, status: TaskStatus | None) -> dict[str, Any]:
    """The same for programs."""
    told: dict[str, Any] = msgspec.to_builtins(record)
    if status is not None:
        told |= {
            "phase": status.phase,
            "loops": msgspec.to_builtins(status.loops),
            "files_changed": status.files_changed,
        }
    return told


def _seconds(record: TaskRecord, status: TaskStatus | None, now: float) -> float:
    at_work = status is not None or record.state == "running"
    return now - record.started_at if at_work else record.duration_s


def _loops(loops: Any) -> list[tuple[str, int]]:
    return [(name, getattr(loops, name)) for name in ("inspector", "tester")]


def describe_results(reports: Mapping[str, Event]) -> Heard:
    """How tests have gone, by task: each task's last ``tester.report``."""
    lines: list[str] = []
    for task, event in reports.items():
        report = event.data
        lines.append(f"{task}: {'passed' if report.get('passed') else 'failed'}, {report.get('tests_run') or '?'} run")
        lines += [f"  {report['covered']}"] if report.get("covered") else []
        lines += [f"  {failure}" for failure in report.get("failures", [])[:SHOWN_FAILURES]]
    data = {"results": {task: event.data for task, event in reports.items()}}
    return Heard("\n".join(lines) or "no tests have run", data)


def describe_covered(reports: Mapping[str, Event]) -> Heard:
    """Which changed statements tests have run, by task: each task's last ``tester.report``."""
    known = {task: msgspec.convert(event.data.get("coverage"), Coverage | None) for task, event in reports.items()}
    lines: list[str] = []
    for task, coverage in known.items():
        if coverage is None:
            lines.append(f"{task}: nothing was measured")
            continue
        if coverage.statements:
            run, changed = coverage.run, coverage.statements
            lines.append(f"{task}: {run} of {changed} changed statement(s) were seen to run, {run / changed:.0%}")
            lines += [f"  not seen to run: {place}" for place in places_missed(coverage)[:SHOWN_PLACES]]
        elif not coverage.unknown:
            lines.append(f"{task}: no statement has changed")
        if coverage.unknown:
            lines.append(f"{task}: not known: {coverage.unknown}")
    data = {"coverage": msgspec.to_builtins(known)}
    return Heard("\n".join(lines) or "no tests have run", data)


def describe_issues(reports: Mapping[str, Event], severities: Collection[str] = SEVERITIES) -> Heard:
    """What Inspectors have found, by task: each task's last ``inspector.issues``, of some severities; and apart, what a
    person has let pass."""
    found: dict[str, list[str]] = {}
    overridden: dict[str, list[str]] = {}
    lines: list[str] = []
    for task, event in reports.items():
        issues: list[str] = event.data.get("issues", [])
        kept = [issue for issue in issues if any(f" {each}: " in issue for each in severities)]
        accepted: list[str] = event.data.get("overridden", [])
        found |= {task: kept} if kept else {}
        overridden |= {task: accepted} if accepted else {}
        if kept or accepted:
            lines += [f"{task}:", *(f"  {each}" for each in kept), *(f"  accepted: {each}" for each in accepted)]
    return Heard("\n".join(lines) or "no issues were found", {"issues": found, "overridden": overridden})
