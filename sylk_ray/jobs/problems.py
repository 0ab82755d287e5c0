"""What is wrong with a job file, in the person's words and with the place in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from sylk_ray.errors import InputError

Path = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a document to a value."""

_LISTED = 50
"""How many problems the message of an error spells out."""
_SHOWN = 500
"""How many characters of each part of a problem are shown."""
_BARE = re.compile(r"[\w-]+")


def told_path(path: Path) -> str:
    """``tasks.docs.engineer[0].run``"""
    told = ""
    for step in path:
        if isinstance(step, int):
            told += f"[{step}]"
        elif _BARE.fullmatch(step):
            told += f".{step}" if told else step
        else:
            told += f"[{json.dumps(step, ensure_ascii=False)}]"
    return told


class Problem(msgspec.Struct, frozen=True):
    """``where`` is the path of a field; line and column count from 1."""

    where: str
    line: int
    """0 when the problem is not in the file, as with ``--set``."""
    column: int
    message: str
    hint: str = ""

    def told(self, source: str) -> str:
        """``file:line:column: where: message (hint)``, without the parts that are empty."""
        position = f"{source}:{self.line}:{self.column}" if self.line else source
        parts = [position, *(_one_line(part) for part in (self.where, self.message) if part)]
        return ": ".join(parts) + (f" ({_one_line(self.hint)})" if self.hint else "")


def _one_line(text: str) -> str:
    """What a file says must not break the list of problems, nor command the terminal it is shown in."""
    shown = "".join(character if character.isprintable() else " " for character in text[: _SHOWN + 1])
    return shown if len(text) <= _SHOWN else shown[:_SHOWN] + "..."


class JobProblems(InputError):
    """A job file is not valid. Its message lists the problems in the order of the file."""

    code = "job_problems"
    problems: tuple[Problem, ...] = ()

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda each: (each.line, each.column, each.where)))
        lines = [problem.told(source) for problem in self.problems[:_LISTED]]
        if len(self.problems) > _LISTED:
            lines.append(f"{source}: and {len(self.problems) - _LISTED} more problems")
        super().__init__("\n".join(lines), hint="correct the job and run it again; nothing was changed")

    def __reduce__(self) -> tuple[object, ...]:
        return (JobProblems, (self.source, self.problems))
