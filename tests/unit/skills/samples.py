"""Skills to test with, and a loader whose costs are what the test says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sylk_ray.skills import Disclosure, Registry, Skill, SkillLoader, Tier, skill


def sample(name: str, *, tier: Tier = "domain", domain: str = "sampling", keywords: tuple[str, ...] = ()) -> Skill:
    """A skill that returns its own name."""

    async def function(ctx: Any) -> str:
        """Do something."""
        return name

    return skill(name=name, domain=domain, keywords=keywords, tier=tier)(function)


def loader_of(
    costs: Mapping[str, int], *skills: Skill, max_tokens: int = 100, near: float = 1.0, unused_turns: int = 5
) -> SkillLoader:
    disclosure = Disclosure(max_tokens=max_tokens, near=near, unused_turns=unused_turns)
    return SkillLoader(Registry(skills), disclosure, cost=lambda each: costs.get(each.name, 10))


def names(loader: SkillLoader) -> list[str]:
    return [each.name for each in loader.loaded()]
