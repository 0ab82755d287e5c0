"""Which task a person means by a name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

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
    plain = _plain(name)
    same = sorted(task for task in tasks if _plain(task) == plain)
    found = same or sorted(task for task in tasks if plain and _plain(task).startswith(plain))
    if len(found) == 1:
        return found[0]
    if found:
        ambiguous = AmbiguousTask(f'"{name}" can mean {len(found)} tasks', hint=f"name one of {_listed(found)}")
        ambiguous.candidates = tuple(found)
        raise ambiguous
    candidates = _similar(plain, tasks)
    unknown = UnknownTask(f'there is no task "{name}"', hint=_hint(candidates, tasks))
    unknown.candidates = candidates
    raise unknown


def _hint(candidates: Collection[str], tasks: Collection[str]) -> str:
    if candidates:
        return f"did you mean {_listed(candidates)}?"
    return f"the tasks: {_listed(sorted(tasks))}" if tasks else "no task is running"


def _similar(plain: str, tasks: Collection[str]) -> tuple[str, ...]:
    """The closest first; a name that is in the middle of a task's counts as close."""
    by_plain = {_plain(task): task for task in sorted(tasks, reverse=True)}
    close = get_close_matches(plain, by_plain, n=_LISTED, cutoff=0.6)
    within = sorted(each for each in by_plain if plain and plain in each and each not in close)
    return tuple(by_plain[each] for each in (*close, *within))[:_LISTED]


def _listed(names: Collection[str]) -> str:
    shown = [f'"{name}"' for name in list(names)[:_LISTED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")
