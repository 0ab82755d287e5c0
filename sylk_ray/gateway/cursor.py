"""How far a client has come in the histories of many sessions, as a text that it gives back."""

from __future__ import annotations

import re
from collections.abc import Container

from sylk_ray.errors import InputError

_NUMBER = re.compile(r"[0-9]{1,18}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class InvalidCursor(InputError):
    """A text that no stream has given as its cursor."""

    code = "invalid_cursor"


class Cursor:
    """``<start>;<session>:<number>,...``: of each session that is named what comes after the number, of any other what
    was published later than ``start``, in microseconds since 1970. So a cursor covers sessions that there are not yet.

    A session is named for as long as it may be written to, because numbers alone are exact: of two events the one that
    was published first may be committed last. One whose journal has been at rest for longer than any of that takes is
    folded away: the start moves on to a time at which it rested already. So a cursor is as long as there are sessions
    at work. Cells on several machines must have clocks that agree within that time.
    """

    def __init__(self, start_us: int, seen: dict[str, int]) -> None:
        self._start_us = start_us
        self.seen = seen

    @classmethod
    def at(cls, start: float) -> Cursor:
        """Where nothing is seen of what is published later than a time, in Unix seconds."""
        return cls(int(start * 1e6), {})

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Raises InvalidCursor."""
        start, _, named = text.partition(";")
        seen = [each.rpartition(":") for each in named.split(",") if each]
        if not (
            _NUMBER.fullmatch(start)
            and all(_SESSION.fullmatch(session) and _NUMBER.fullmatch(number) for session, _, number in seen)
        ):
            raise InvalidCursor(
                f"{text[:80]!r} is not a cursor of this stream",
                hint="give the id of the last event as it was, 0 to begin with the first that there is, or nothing",
            )
        return cls(int(start), {session: int(number) for session, _, number in seen})

    def __str__(self) -> str:
        return f"{self._start_us};{','.join(f'{session}:{number}' for session, number in self.seen.items())}"

    @property
    def start(self) -> float:
        """In Unix seconds."""
        return self._start_us / 1e6

    def fold(self, at_rest: Container[str], since: float) -> None:
        """Name the sessions no more that have been at rest since then, and all of whose events are seen."""
        if since > self.start:
            self._start_us = int(since * 1e6)
            for session in [each for each in self.seen if each in at_rest]:
                del self.seen[session]
