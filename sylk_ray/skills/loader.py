"""Which skills a model is told of: never more than the budget, always the core ones, the least used go first.

Source: the spec's "Progressive Skill Disclosure". Core skills are always loaded. A text loads the skills it mentions, a
domain its domain skills; a specialised skill waits until it is mentioned or asked for by name. What was not used for
some turns is unloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from sylk_ray.errors import InputError
from sylk_ray.skills.calling import call
from sylk_ray.skills.errors import CoreOverBudget, CoreStaysLoaded, OverBudget, SkillNotLoaded
from sylk_ray.skills.model import Skill
from sylk_ray.skills.registry import Registry
from sylk_ray.skills.tokens import tokens_of


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """How much a model is told of. Raises InputError."""

    max_tokens: int = 4_000
    near: float = 0.9
    """The part of ``max_tokens`` up to which skills are loaded on their own account, and down to which the least used
    are unloaded when more is needed. What is above is for a skill that is asked for by name and has no room below."""
    unused_turns: int = 5
    """How many whole turns a skill stays without being used."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or not 0 < self.near <= 1 or self.unused_turns < 0:
            raise InputError(
                f"skills cannot be disclosed by {self}",
                hint="max_tokens is at least 1, near above 0 and at most 1, unused_turns at least 0",
            )

    @property
    def near_tokens(self) -> int:
        return int(self.max_tokens * self.near)


class TokenBudget(msgspec.Struct, frozen=True):
    """What the loaded skills cost, and what they may."""

    used: int
    limit: int


class Change(msgspec.Struct, frozen=True):
    """The names of the skills that came, that went, and that were mentioned and had no room."""

    loaded: tuple[str, ...] = ()
    unloaded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class _Loaded:
    """A loaded skill, and when it was last used."""

    __slots__ = ("cost", "skill", "turn", "use")

    def __init__(self, skill: Skill, cost: int) -> None:
        self.skill = skill
        self.cost = cost
        self.turn = 0
        self.use = 0


class SkillLoader:
    """The skills of one agent. Raises CoreOverBudget when the core skills alone are too many.

    Being called, mentioned again, or loaded again counts as use. ``cost`` is asked whenever a skill is to be loaded.
    """

    def __init__(
        self, registry: Registry, disclosure: Disclosure | None = None, *, cost: Callable[[Skill], int] = tokens_of
    ) -> None:
        self._registry = registry
        self._disclosure = Disclosure() if disclosure is None else disclosure
        self._cost = cost
        # In the order of loading and not of use: a provider caches a prompt up to where it changes.
        self._loaded: dict[str, _Loaded] = {}
        self._turn = 0
        self._uses = 0
        for each in registry:
            if each.tier == "core":
                self._put(each, cost(each))
        budget = self.token_budget()
        if budget.used > budget.limit:
            raise CoreOverBudget(
                f"the {len(self._loaded)} core skills cost {budget.used:,} tokens of a budget of {budget.limit:,}",
                hint="raise the budget, or make some of them domain skills",
            )

    def loaded(self) -> list[Skill]:
        """The core skills, then the others in the order in which they were loaded."""
        return [each.skill for each in self._loaded.values()]

    def not_loaded(self) -> list[Skill]:
        """What could be loaded."""
        return [each for each in self._registry if each.name not in self._loaded]

    def definitions(self) -> list[dict[str, Any]]:
        """The loaded skills as they are sent to a model."""
        return [each.definition for each in self.loaded()]

    def token_budget(self) -> TokenBudget:
        """What the loaded skills cost, of what they may."""
        return TokenBudget(sum(each.cost for each in self._loaded.values()), self._disclosure.max_tokens)

    def load(self, name: str) -> Change:
        """Load one by its name, unloading the least used if it needs the room. Raises UnknownSkill or OverBudget."""
        skill = self._registry.get(name)
        change = self._load([skill], self._disclosure.max_tokens)
        if change.left_out:
            raise OverBudget(
                f"the skill {name!r} costs {self._cost(skill):,} tokens and has no room beside the core skills: "
                f"the budget is {self._disclosure.max_tokens:,}",
                hint="raise the budget",
            )
        return change

    def load_domain(self, domain: str) -> Change:
        """Load the domain skills of a domain, as far as there is room. Raises UnknownDomain."""
        found = [each for each in self._registry.of_domain(domain) if each.tier == "domain"]
        return self._load(found, self._disclosure.near_tokens)

    def load_for(self, text: str) -> Change:
        """Load what a text mentions, as far as there is room: domain skills first, the most mentioned first."""
        found = [each for each in self._registry.mentioned(text) if each.tier != "core"]
        return self._load(sorted(found, key=lambda each: each.tier == "specialised"), self._disclosure.near_tokens)

    def unload(self, name: str) -> Change:
        """Raises UnknownSkill, SkillNotLoaded or CoreStaysLoaded."""
        if self._registry.get(name).tier == "core":
            raise CoreStaysLoaded(f"{name!r} is a core skill and stays loaded", hint="unload another one")
        self._require_loaded(name)
        del self._loaded[name]
        return Change(unloaded=(name,))

    def next_turn(self) -> Change:
        """A turn is over; unload what was not used for longer than it may stay."""
        self._turn += 1
        idle = [
            name
            for name, each in self._loaded.items()
            if each.skill.tier != "core" and self._turn - each.turn > self._disclosure.unused_turns
        ]
        for name in idle:
            del self._loaded[name]
        return Change(unloaded=tuple(idle))

    async def call(self, name: str, arguments: str | bytes | Mapping[str, Any], ctx: Any) -> str:
        """Call a loaded skill, see ``skills.call``. Raises UnknownSkill or SkillNotLoaded as well."""
        skill = self._registry.get(name)
        self._require_loaded(name)
        self._touch(name)
        return await call(skill, arguments, ctx)

    def _load(self, wanted: list[Skill], limit: int) -> Change:
        """Load in this order what fits under ``limit`` with the core skills and the others of ``wanted``."""
        there = [each.name for each in wanted if each.name in self._loaded]
        came: list[str] = []
        went: list[str] = []
        left: list[str] = []
        for skill in wanted:
            if skill.name in self._loaded:
                continue
            cost = self._cost(skill)
            if self._kept(there + came) + cost > limit:
                left.append(skill.name)
                continue
            went += self._make_room(cost, there + came)
            self._put(skill, cost)
            came.append(skill.name)
        for skill in reversed(wanted):
            if skill.name in self._loaded:
                self._touch(skill.name)
        return Change(tuple(came), tuple(went), tuple(left))

    def _kept(self, names: Iterable[str]) -> int:
        """What cannot be unloaded in favour of another: the core skills, and those named."""
        kept = {*names, *(name for name, each in self._loaded.items() if each.skill.tier == "core")}
        return sum(self._loaded[name].cost for name in kept)

    def _make_room(self, cost: int, keep: list[str]) -> list[str]:
        used = self.token_budget().used
        candidates = [name for name, each in self._loaded.items() if each.skill.tier != "core" and name not in keep]
        went: list[str] = []
        for name in sorted(candidates, key=lambda name: self._loaded[name].use):
            if used + cost <= self._disclosure.near_tokens:
                break
            used -= self._loaded.pop(name).cost
            went.append(name)
        return went

    def _put(self, skill: Skill, cost: int) -> None:
        self._loaded[skill.name] = _Loaded(skill, cost)
        self._touch(skill.name)

    def _touch(self, name: str) -> None:
        self._uses += 1
        self._loaded[name].use, self._loaded[name].turn = self._uses, self._turn

    def _require_loaded(self, name: str) -> None:
        if name not in self._loaded:
            raise SkillNotLoaded(f"the skill {name!r} is not loaded", hint=f'call load_skill with {{"name": "{name}"}}')
