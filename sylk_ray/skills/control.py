"""The skills by which a model governs its own skills."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from sylk_ray.skills.definition import skill
from sylk_ray.skills.loader import Change, SkillLoader, TokenBudget


class SkillContext(Protocol):
    """What these skills need of the context that they are called with."""

    @property
    def skills(self) -> SkillLoader:
        """The loader of the agent whose model calls."""
        ...


@skill(domain="skills", keywords=["load skill"], tier="core")
async def load_skill(ctx: SkillContext, name: str) -> Change:
    """Load a skill that is not loaded, so that it can be called. loaded_skills lists their names.

    Args:
        name: The skill's name.
    """
    return ctx.skills.load(name)


@skill(domain="skills", keywords=["unload skill"], tier="core")
async def unload_skill(ctx: SkillContext, name: str) -> Change:
    """Unload a skill that is no longer needed.

    Args:
        name: The skill's name.
    """
    return ctx.skills.unload(name)


class _Names(msgspec.Struct, frozen=True):
    loaded: list[dict[str, Any]]
    not_loaded: list[dict[str, Any]]


@skill(domain="skills", keywords=["loaded skills"], tier="core")
async def loaded_skills(ctx: SkillContext) -> _Names:
    """List the skills that are loaded, and those that could be."""
    return _Names(
        [{"name": each.name, "tier": each.tier} for each in ctx.skills.loaded()],
        [{"name": each.name, "domain": each.domain} for each in ctx.skills.not_loaded()],
    )


@skill(domain="skills", keywords=["token budget"], tier="core")
async def skill_token_budget(ctx: SkillContext) -> TokenBudget:
    """Tell how many tokens the loaded skills use, and how many they may."""
    return ctx.skills.token_budget()


CONTROL = (load_skill, unload_skill, loaded_skills, skill_token_budget)
