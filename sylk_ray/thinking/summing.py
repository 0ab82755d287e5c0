"""What a model knows when its conversation ends and its matter does not: so that another can go on from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sylk_ray.llm import Tool
from sylk_ray.thinking.schemas import schema_of

Reason = Literal["context_full", "asked_by_user"]


class Summary(msgspec.Struct, frozen=True):
    """For whoever goes on with it."""

    done: Annotated[tuple[str, ...], Meta(description="What is done, each in a sentence.")] = ()
    remaining: Annotated[tuple[str, ...], Meta(description="What is left to do, each in a sentence.")] = ()
    notes: Annotated[str, Meta(description="What you have learnt that is written nowhere: why, and what fails.")] = ""

    def as_told(self) -> str:
        """To a model."""
        parts = [("Done", self.done), ("Left to do", self.remaining)]
        told = [f"{title}:\n{_list(lines)}" for title, lines in parts if lines]
        return "\n".join([*told, *([f"Notes: {self.notes}"] if self.notes.strip() else [])])


class Pause(msgspec.Struct, frozen=True):
    """A conversation ends. ``used`` is the part of the model's window that it fills, 0 to 1; ``turns`` and ``tokens``
    are those of the matter so far."""

    summary: Summary
    reason: Reason
    used: float
    turns: int = 0
    tokens: int = 0


class Checkpoint(msgspec.Struct, frozen=True):
    """What is known at one point. ``used`` is the part of the window, 0 to 1."""

    summary: Summary
    reason: Reason | Literal["checkpoint"]
    used: float


GoOn = Callable[[Pause], Awaitable[str]]
"""Called then, for what the matter is in the conversation that takes its place. It need not return: when somebody else
goes on, it is cancelled."""

SUM_UP = Tool(
    "sum_up",
    "Say what you know, for another who goes on with the task and knows nothing of this conversation.",
    schema_of(Summary),
)
ASKED = (
    "This conversation ends here, and the task does not. Call sum_up now: what is done, what is left, what you know."
)


def of_calls(changes: Sequence[tuple[str, Mapping[str, Any]]], said: str) -> Summary:
    """Of what was done, where no model can tell."""
    done = dict.fromkeys(" ".join([name, *_objects(arguments)]) for name, arguments in changes)
    return Summary(tuple(done)[-_MOST:], (), said[:_LONGEST])


_MOST = 20
_LONGEST = 1000


def _objects(arguments: Mapping[str, Any]) -> list[str]:
    return [str(arguments[name])[:100] for name in ("path", "files", "command") if name in arguments]


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
