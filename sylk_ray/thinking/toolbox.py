"""The skills that a model is offered as tools: one place that permits them, uses them, and bounds what it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from pydantic_core import to_jsonable_python

from sylk_ray.errors import SylkError
from sylk_ray.llm import Tool
from sylk_ray.skills import Permission, Skill, run
from sylk_ray.thinking.commands import CommandRefused
from sylk_ray.tools import PathRefused

LONGEST = 24_000
"""Characters of an answer; of a longer one the beginning and the end are told."""


class Answer(msgspec.Struct, frozen=True):
    """What the model is told of a call. ``denied`` names the permission that was lacking, or that what was wanted goes
    beyond."""

    text: str
    failed: bool = False
    denied: str = ""


class Toolbox:
    """What one agent can do, called with ``ctx``, and what it is ``granted``. What needs more is not offered, and is
    refused when it is called all the same."""

    def __init__(self, skills: Iterable[Skill], granted: frozenset[Permission], ctx: object = None) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._granted = granted
        self._ctx = ctx

    def offered(self) -> tuple[Tool, ...]:
        """For the model."""
        granted = [skill for skill in self._skills.values() if skill.needs <= self._granted]
        return tuple(Tool(skill.name, skill.description, skill.schema) for skill in granted)

    def looks(self, name: str) -> bool:
        """Whether a call changes nothing; one that will be refused does not either."""
        skill = self._skills.get(name)
        return skill is None or skill.only_looks or self.withholds(name)

    def withholds(self, name: str) -> bool:
        """Whether there is such a tool, which needs more than is granted."""
        skill = self._skills.get(name)
        return skill is not None and not skill.needs <= self._granted

    async def use(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What came of it, in words for the model: an error of ours as well as of its arguments."""
        skill = self._skills.get(name)
        if skill is None:
            return Answer(f"there is no tool {name}; there are: {', '.join(sorted(self._skills))}", failed=True)
        if lacking := sorted(skill.needs - self._granted):
            has = ", ".join(sorted(self._granted)) or "nothing"
            return Answer(f"{name} needs the permission {lacking[0]}; granted: {has}", failed=True, denied=lacking[0])
        try:
            result = await run(skill, arguments, self._ctx)
        except SylkError as error:
            beyond = min(skill.needs, default="") if isinstance(error, (CommandRefused, PathRefused)) else ""
            told = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
            return Answer(shortened(told), failed=True, denied=beyond)
        return Answer(shortened(result if isinstance(result, str) else _json(result)))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Its beginning and its end, when it is longer."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters are left out here ...\n{text[-half:]}"


def _json(result: object) -> str:
    return msgspec.json.encode(result, enc_hook=to_jsonable_python).decode()
