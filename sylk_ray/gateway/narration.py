"""Events as lines for people: the same in a terminal's scrollback, in a pipe and in the log of a Ray job."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sylk_ray.messaging import Event
from sylk_ray.sessions import JobState

Data = dict[str, Any]
SHOWN_LINES = 12
_WAITING = frozenset(state for state in JobState if state.waiting)
_UNTOLD_STATES = ("pending", "queued")
_PHASES = {
    "running": "the engineer is at work",
    "inspecting": "the inspector looks at it",
    "testing": "the tester runs the tests",
}


def narrate(event: Event) -> list[str]:
    """What to print for an event; nothing for one that only a live view shows. Control characters are taken out."""
    tell = _TELLERS.get(event.kind)
    told = [plain(line) for line in tell(event.data)] if tell else []
    if not told:
        return []
    clock = time.strftime("%H:%M:%S", time.localtime(event.at)) if event.at else "--:--:--"
    who = f"{event.task}: " if event.task else ""
    first, *more = told
    return [f"{clock}  {who}{first}", *(f"          {line}" for line in more)]


def plain(text: str) -> str:
    """Text that cannot command a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)


def grants_told(grants: Data) -> list[str]:
    """What the person granted the job's tools beyond their worktree."""
    told: list[str] = []
    if grants.get("read"):
        told.append(f"may read {', '.join(grants['read'])}")
    if grants.get("write"):
        told.append(f"may write to {', '.join(grants['write'])}")
    if grants.get("network"):
        told.append("may use the network")
    if grants.get("env"):
        told.append(f"may see {', '.join(grants['env'])} of the environment")
    return told


def shortened(text: object) -> list[str]:
    """The first lines of a text, and how many more there are."""
    lines = str(text or "").strip().splitlines()
    return [*lines[:SHOWN_LINES], *([f"... {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else [])]


def _job_started(data: Data) -> list[str]:
    layers = " -> ".join(", ".join(layer) for layer in data.get("layers", []))
    told = [f"job {data.get('name')} ({data.get('job')}) started on branch {data.get('branch')}"]
    told[0] += f": {layers}" if layers else ""
    told += [f"granted: its tools {line}" for line in grants_told(data.get("grants", {}))]
    return told + [f"note: {warning}" for warning in data.get("warnings", [])]


def _task_state(data: Data) -> list[str]:
    if data.get("state") in _UNTOLD_STATES:
        return []
    error: Data = data.get("error") or {}
    attempt = f" (attempt {data['attempt']})" if data.get("attempt", 1) > 1 else ""
    reason = shortened(error.get("message") or data.get("reason"))
    told = f"{data.get('state')}{attempt}"
    if reason:
        told += f": {reason[0]}"
    hint = [f"hint: {error['hint']}"] if error.get("hint") else []
    return [told, *reason[1:], *hint]


def _phase(data: Data) -> list[str]:
    loops: Data = data.get("loops", {})
    back = f" (sent back by the inspector {loops.get('inspector', 0)}x, by the tester {loops.get('tester', 0)}x)"
    told = _PHASES.get(str(data.get("phase")), "")
    return [f"{told}{back if loops.get('inspector') or loops.get('tester') else ''}"] if told else []


def _feedback(data: Data) -> list[str]:
    return [f"sent back by the {data.get('by')}, loop {data.get('loop')}:", *shortened(data.get("text"))]


def _conflict(data: Data) -> list[str]:
    return ["its work conflicts with what was merged meanwhile:", *shortened(data.get("text"))]


def _action(data: Data) -> list[str]:
    return [f"{data.get('action')}: {data.get('summary')}"]


def _issues(data: Data) -> list[str]:
    issues: list[str] = data.get("issues", [])
    accepted = [f"accepted: {each}" for each in data.get("overridden", [])]
    if not issues:
        return accepted
    return [f"{len(issues)} issue(s) found, {data.get('errors')} of them errors", *issues[:SHOWN_LINES], *accepted]


def _report(data: Data) -> list[str]:
    run = data.get("tests_run")
    count = f", {run} run" if run else ""
    covered = f"; {data['covered']}" if data.get("covered") else ""
    told = f"tests {'passed' if data.get('passed') else 'failed'}{count}{covered}"
    return [told, *data.get("failures", [])[:SHOWN_LINES]]


def _waived(data: Data) -> list[str]:
    return [f"goes on without the {data.get('check')}, as a person said"]


def _told(data: Data) -> list[str]:
    reason = f": {data['reason']}" if data.get("reason") else ""
    return [f"a person said {data.get('action')}{reason}"]


def _merged(data: Data) -> list[str]:
    return [f"merged as {str(data.get('commit'))[:10]} ({len(data.get('files', []))} file(s))"]


def _checks(data: Data) -> list[str]:
    error: Data = data.get("error") or {}
    state, phase = str(data.get("state")), str(data.get("phase") or "")
    if state == "running" and phase:
        return [_PHASES[phase]] if phase in ("inspecting", "testing") else []
    return [state, *shortened(error.get("message"))]


def waiting_told(job_id: object, status: object, waiting: object) -> str:
    """Why a job does not run now, and what lets it go on."""
    if status == "queued":
        return f"{waiting or 'it waits for its turn'}; it starts by itself"
    return f"{f'{waiting}; ' if waiting else ''}`sylk resume {job_id}` lets it go on"


def _waiting(data: Data) -> list[str]:
    status = data.get("status")
    if status in _WAITING:
        return [f"{status}: {waiting_told(data.get('job'), status, data.get('waiting'))}"]
    return ["its turn has come" if data.get("before") == "queued" else "it goes on"]


def _cancelling(data: Data) -> list[str]:
    return [f"the job is being cancelled: {data.get('reason')}"]


def _plan_made(data: Data) -> list[str]:
    tasks: list[Data] = data.get("tasks", [])
    what = "change" if any("change" in task for task in tasks) else "task"
    return [f"a plan of {len(tasks)} {what}(s):", *str(data.get("text", "")).splitlines()]


def _asked(data: Data) -> list[str]:
    id = data.get("id")
    if data.get("asked") == "question":
        return [f"a question: {data.get('text')}", f'answer it with `sylk answer {id} "..."`']
    return [f"waits for approval: `sylk approve {id}`, or `sylk deny {id} [what is wanted instead]`"]


def _decided(data: Data) -> list[str]:
    said = f": {data['text']}" if data.get("text") else ""
    who = f" by {data['who']}" if data.get("who") else ""
    return [f"{_DECIDED.get(str(data.get('decision')), data.get('decision'))}{who}{said}"]


_DECIDED = {"approve": "approved", "deny": "denied", "answer": "answered"}


def _engineered(data: Data) -> list[str]:
    return [str(data.get("summary")), *(f"not done: {each}" for each in data.get("unfinished", []))]


def _proved(data: Data) -> list[str]:
    return [f"tests: {data.get('summary')}"]


def _thought(data: Data) -> list[str]:
    price = f", {data['price']:.4g}" if data.get("price") else ""
    told = f"the {data.get('role')}'s model: {data.get('turns')} turn(s), {data.get('tokens')} tokens{price}"
    return [told if data.get("ended") == "done" else f"{told}; ended by its limit ({data.get('ended')})"]


def _denied(data: Data) -> list[str]:
    why = data.get("reason") or f"it lacks {data.get('permission')}"
    return [f"the {data.get('role')} was refused {data.get('tool')}: {why}"]


def _finished(data: Data) -> list[str]:
    record: Data = data.get("record", {})
    error: Data = record.get("error") or {}
    commit = f" at {record['commit'][:10]}" if record.get("commit") else ""
    told = [
        f"job {data.get('status')} after {record.get('duration_s', 0):.1f} s, branch {record.get('branch')}{commit}"
    ]
    told += shortened(error.get("message"))
    tasks: list[Data] = [*record.get("tasks", {}).values(), *filter(None, [record.get("checks")])]
    for task in tasks:
        for each in task.get("overridden", []):
            reason = f" ({each['reason']})" if each.get("reason") else ""
            told.append(f"{task['name']}: a person accepts {each['issue']}: {each['told']}{reason}")
    return [*told, f"hint: {error['hint']}"] if error.get("hint") else told


def _plan_begun(data: Data) -> list[str]:
    what = "thinks about a change of the plan" if data.get("change") else "plans"
    return [f"the Architect {what}" + (" anew" if data.get("round", 1) > 1 else "")]


def _plan_changed(data: Data) -> list[str]:
    changes = [f"{what}: {', '.join(data[what])}" for what in ("added", "removed", "changed") if data[what]]
    by = f", by {data['by']}" if data.get("by") else ""
    return [f"the plan is changed{by}: {'; '.join(changes) or 'the order of its tasks'}"]


_TELLERS: dict[str, Callable[[Data], list[str]]] = {
    "job.started": _job_started,
    "job.waiting": _waiting,
    "job.cancelling": _cancelling,
    "job.finished": _finished,
    "task.state": _task_state,
    "task.merged": _merged,
    "pipeline.phase": _phase,
    "pipeline.feedback": _feedback,
    "merge.conflict": _conflict,
    "action.done": _action,
    "inspector.issues": _issues,
    "tester.report": _report,
    "checks.state": _checks,
    "check.waived": _waived,
    "task.told": _told,
    "plan.begun": _plan_begun,
    "plan.changed": _plan_changed,
    "plan.unchanged": lambda data: [f"the plan stays as it is: {data['error']['message']}"],
    "plan.made": _plan_made,
    "person.asked": _asked,
    "person.decided": _decided,
    "engineer.asks": lambda data: [f"the Engineer asks: {data['question']}"],
    "engineer.helped": lambda data: [f"answered by {data['by']}: {data['answer']}"],
    "engineer.result": _engineered,
    "tester.tests": _proved,
    "thinking.ended": _thought,
    "permission.denied": _denied,
}
