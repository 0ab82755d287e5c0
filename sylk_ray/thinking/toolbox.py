"""The skills that a model is offered as tools: one place that permits them, uses them, and bounds what it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from pydantic_core import to_jsonable_python

from sylk_ray.errors import SylkError
from sylk_ray.llm import Tool
from sylk_ray.skills import Change, Disclosure, OverBudget, Permission, Registry, Skill, SkillLoader, run
from sylk_ray.skills.control import load_skill
from sylk_ray.thinking.commands import CommandRefused
from sylk_ray.tools import PathRefused

_STAY = Disclosure(unused_turns=1 << 30)
_CAN_BE_LOADED = "Mostly your tools are enough. Where they are not, load_skill brings others:"
_LOAD = "Load another skill, if you cannot do without. A name that there is not brings the names that there are."
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
    refused when it is called all the same.

    Core skills are loaded, and those that the words of what it is ``about`` mention. Of the others those of a domain
    are listed, and all come when the model loads or calls them. They stay until the matter is over: a provider caches
    what is told first.
    """

    def __init__(
        self, skills: Iterable[Skill], granted: frozenset[Permission], ctx: object = None, *, about: str = ""
    ) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._granted = granted
        self._ctx = ctx
        self._loader = SkillLoader(Registry(each for each in self._skills.values() if each.needs <= granted), _STAY)
        self._loader.load_for(about)
        self._listed = [each for each in self._loader.not_loaded() if each.tier == "domain"]

    @property
    def skills(self) -> SkillLoader:
        """Which are loaded; for ``load_skill``."""
        return self._loader

    def offered(self, *, loading: bool = True) -> tuple[Tool, ...]:
        """For the model, in the order in which they were loaded, with the one that loads others unless that is not
        ``loading``."""
        offered = [Tool(each.name, each.description, each.schema) for each in self._loader.loaded()]
        if loading and self._loader.not_loaded():
            offered.append(Tool(load_skill.name, _LOAD, load_skill.schema))
        return tuple(offered)

    def listing(self) -> str:
        """What can be loaded besides, as it is at the beginning; in one sentence, for a small model takes a list for
        what it is to do."""
        told = [f"{each.name} ({_first_sentence(each)})" for each in self._listed]
        return f"{_CAN_BE_LOADED} {', '.join(told)}." if told else ""

    def load(self, name: str) -> bool:
        """Have one that was not loaded; whether it is now, and was not."""
        if name not in {each.name for each in self._loader.not_loaded()}:
            return False
        try:
            return name in self._loader.load(name).loaded
        except OverBudget:
            return False

    def governs(self, name: str) -> bool:
        """Whether it changes only what is offered, and is to be done again when the same conversation is gone through
        again."""
        return name == load_skill.name and name not in self._skills

    def looks(self, name: str) -> bool:
        """Whether a call changes nothing; one that will be refused does not either."""
        skill = self._skills.get(name)
        return skill is None or skill.only_looks or self.withholds(name)

    def writes(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The one file that a call changes, if it changes no other."""
        skill = self._skills.get(name)
        path = arguments.get(skill.writes) if skill is not None and skill.writes else None
        return path if isinstance(path, str) else ""

    def withholds(self, name: str) -> bool:
        """Whether there is such a tool, which needs more than is granted."""
        skill = self._skills.get(name)
        return skill is not None and not skill.needs <= self._granted

    async def use(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What came of it, in words for the model: an error of ours as well as of its arguments."""
        skill = self._skills.get(name)
        if self.governs(name):
            return await self._load(arguments)
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

    async def _load(self, arguments: Mapping[str, Any]) -> Answer:
        try:
            change: Change = await run(load_skill, arguments, self)
        except SylkError as error:
            told = [f"- {each.name}: {_first_sentence(each)}" for each in self._loader.not_loaded()]
            return Answer("\n".join([error.message, "there can be loaded:", *told]), failed=True)
        name = arguments["name"]
        return Answer(f"{name} can be called from now on" if change.loaded else f"{name} is loaded already: call it")


def _first_sentence(skill: Skill) -> str:
    return skill.description.partition(". ")[0].rstrip(".")


def shortened(text: str, longest: int = LONGEST) -> str:
    """Its beginning and its end, when it is longer."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters are left out here ...\n{text[-half:]}"


def _json(result: object) -> str:
    return msgspec.json.encode(result, enc_hook=to_jsonable_python).decode()
