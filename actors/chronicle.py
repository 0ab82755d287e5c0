"""What of a session's history is worth remembering when others work on the same codebase: events become memories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from sylk_ray.codebase.requests import Elsewhere, Memory, MemoryKind
from sylk_ray.messaging import Event

log = logging.getLogger("sylk.chronicle")
LONGEST = 6_000
"""Characters of a memory; what is more is in the session's history."""
LONGEST_TITLE = 120
_LISTED = 20


class _Told(NamedTuple):
    kind: MemoryKind
    title: str
    text: str
    domain: Elsewhere = "history"


def memories_of(events: Iterable[Event]) -> list[Memory]:
    """In their order. The same events give the same memories, under the same ids. One that is not as it should be, of
    another version or a role that a package brings, is left out."""
    found: list[Memory] = []
    for event in events:
        reader = _READERS.get(event.kind)
        if reader is None:
            continue
        try:
            told = reader(event)
            if told is not None:
                found.append(_memory(told, event))
        except (LookupError, TypeError, AttributeError, ValueError) as problem:
            log.warning("event %d of %s (%s) is not remembered: %r", event.sequence, event.session, event.kind, problem)
    return found


def _memory(told: _Told, event: Event) -> Memory:
    if told.kind not in get_args(MemoryKind):
        raise ValueError(f"there are no memories of the kind {told.kind!r}")
    return Memory(
        id=f"{event.session}#{event.sequence}",
        domain=told.domain,
        kind=told.kind,
        title=told.title[:LONGEST_TITLE],
        text=told.text.strip()[:LONGEST],
        session=event.session,
        task=event.task,
        at=event.at,
    )


def _plan(event: Event) -> _Told:
    return _Told("workflow", f"plan: {event.data['summary'] or 'of a request'}", event.data["text"])


def _plan_changed(event: Event) -> _Told:
    names = [f"{what} {_list(event.data[what])}" for what in ("added", "removed", "changed") if event.data[what]]
    return _Told("workflow", "the plan was changed", "\n".join([event.data["why"], *names]))


def _decided(event: Event) -> _Told | None:
    said = event.data["text"]
    if event.data["asked"] == "plan" and not said:
        return None  # that a plan was approved tells nothing that the plan does not
    return _Told("decision", f"a person's {event.data['decision']} to a {event.data['asked']}", said)


def _helped(event: Event) -> _Told:
    return _Told(
        "decision",
        f"{_name(event)}: a question answered",
        f"Question: {event.data['question']}\nAnswer: {event.data['answer']}",
    )


def _engineered(event: Event) -> _Told:
    lines = [event.data["summary"], *(f"not done: {each}" for each in event.data["unfinished"])]
    return _Told("pattern", f"{_name(event)}: done", "\n".join(lines))


def _merged(event: Event) -> _Told:
    return _Told("pattern", f"{_name(event)}: merged", f"Files: {_list(event.data['files'])}")


def _sent_back(event: Event) -> _Told:
    return _Told("failure", f"{_name(event)}: sent back by the {event.data['by']}", event.data["text"])


def _tested(event: Event) -> _Told:
    return _Told("pattern", f"{_name(event)}: tests", f"{event.data['summary']}\n{event.data['command']}")


def _task_state(event: Event) -> _Told | None:
    error = event.data.get("error")
    return _Told("failure", f"{_name(event)}: failed", error["message"]) if error else None


def _handed_over(event: Event) -> _Told:
    left = event.data["remaining"]
    return _Told("workflow", f"{_name(event)}: handed over", "\n".join([event.data["reason"], *left]))


def _finished(event: Event) -> _Told:
    record: Mapping[str, Any] = event.data["record"]
    tasks = [f"{name}: {each['state']}" for name, each in record["tasks"].items()]
    error = record.get("error")
    lines = [f"branch {record['branch']}", *tasks[:_LISTED], *([error["message"]] if error else [])]
    return _Told("workflow", f"job {record['name']}: {event.data['status']}", "\n".join(lines))


def _summed_up(event: Event) -> _Told | None:
    said = event.data["summary"]
    return _Told("session", f"{_name(event)}: what its {event.data['role']} knew", said) if said else None


def _researched(event: Event) -> _Told:
    # Whole, so that who asks the same finds out that it is the same.
    question = asked_as(event.data["question"])
    return _Told("concept", event.data["question"], f"{question}{event.data['told']}", "academic")


def asked_as(question: str) -> str:
    """How the memory of what was found out about a question begins."""
    return f"{question}\n"


def _stored(event: Event) -> _Told:
    return _Told(event.data["memory"], event.data["title"], event.data["text"])


_READERS: dict[str, Callable[[Event], _Told | None]] = {
    "plan.made": _plan,
    "plan.changed": _plan_changed,
    "person.decided": _decided,
    "engineer.helped": _helped,
    "engineer.result": _engineered,
    "task.merged": _merged,
    "pipeline.feedback": _sent_back,
    "tester.tests": _tested,
    "task.state": _task_state,
    "handoff.created": _handed_over,
    "job.finished": _finished,
    "context.checkpoint": _summed_up,
    "academic.researched": _researched,
    "archivalist.stored": _stored,
}


def _name(event: Event) -> str:
    return event.task.replace("_", " ")


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"
