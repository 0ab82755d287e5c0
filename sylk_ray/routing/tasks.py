"""Which task a person means by a name."""

from __future__ import annotations

from collections.abc import Collection

from sylk_ray.dag.nearest import closest, plain
from sylk_ray.errors import InputError

_LISTED = 5


class UnknownTask(InputError):
    """No task has that name; those that are like it are ``candidates``."""

    code = "unknown_task"
    candidates: tuple[str, ...] = ()


class AmbiguousTask(InputError):
    """Several tasks can be meant: ``candidates``."""

    code = "ambiguous_task"
    candidates: tuple[str, ...] = ()


def find_task(name: str, tasks: Collection[str]) -> str:
    """The task of that name, in any case and with ``-`` or ``_``; else the only one that it is the beginning of.

    A name that is only similar is never acted upon, since to interrupt the wrong task costs more than to type again:
    it is what the hint of UnknownTask asks about. Raises UnknownTask and AmbiguousTask.
    """
    if name in tasks:
        return name
    wanted = plain(name)
    same = sorted(task for task in tasks if plain(task) == wanted)
    found = same or sorted(task for task in tasks if wanted and plain(task).startswith(wanted))
    if len(found) == 1:
        return found[0]
    if found:
        ambiguous = AmbiguousTask(f'"{name}" can mean {len(found)} tasks', hint=f"name one of {_listed(found)}")
        ambiguous.candidates = tuple(found)
        raise ambiguous
    candidates = _similar(name, tasks)
    unknown = UnknownTask(f'there is no task "{name}"', hint=_hint(candidates, tasks))
    unknown.candidates = candidates
    raise unknown


def _hint(candidates: Collection[str], tasks: Collection[str]) -> str:
    if candidates:
        return f"did you mean {_listed(candidates)}?"
    return f"the tasks: {_listed(sorted(tasks))}" if tasks else "no task is running"


def _similar(name: str, tasks: Collection[str]) -> tuple[str, ...]:
    """The closest first; a name that is in the middle of a task's counts as close."""
    close = closest(name, sorted(tasks), _LISTED)
    within = [task for task in sorted(tasks) if plain(name) and plain(name) in plain(task) and task not in close]
    return (*close, *within)[:_LISTED]


def _listed(names: Collection[str]) -> str:
    shown = [f'"{name}"' for name in list(names)[:_LISTED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
