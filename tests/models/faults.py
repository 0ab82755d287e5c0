"""What a server of models may do instead of answering."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Status:
    """Refuses with a status, and a body that says why."""

    status: int
    message: str = "as the test wants it"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cut:
    """Closes the connection after so many events."""

    after: int


@dataclass(frozen=True)
class Garbage:
    """Sends something else than JSON after so many events."""

    after: int


@dataclass(frozen=True)
class Stall:
    """Says nothing more after so many events, and leaves the connection open until the other side closes it."""

    after: int


@dataclass(frozen=True)
class SlowFirst:
    """Answers after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Complaint:
    """Breaks off after so many events with one that says what is wrong."""

    after: int
    error: object


@dataclass(frozen=True)
class Page:
    """Answers with a page for people, as what stands before a server does."""


@dataclass(frozen=True)
class Whole:
    """Answers in one document although a stream was asked for (chat completions only)."""


Fault = Status | Cut | Garbage | Stall | SlowFirst | Complaint | Page | Whole
