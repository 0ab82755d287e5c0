"""What an agent can do when its model asks for it: skills, and which of them the model is told of.

A skill is an async function with typed parameters. What the model needs to know is derived from its signature and its
docstring; what that costs in tokens decides how many are told of at once. Core skills always are; the others come
when a text mentions them, with their domain, or when they are asked for, and go when they are not used::

    @skill(domain="routing", keywords=["send", "@to"], tier="core")
    async def route_to(ctx: Context, target: str, message: str, priority: Literal["low", "high"] = "low") -> str:
        \"\"\"Route a message to another agent.

        Args:
            target: The role that it is for.
            message: What to say to it.
        \"\"\"

    registry = Registry([route_to, *CONTROL])
    problems = [*load_installed(registry), *load_repository(registry, repository, allowed=False)]
    loader = SkillLoader(registry, Disclosure(max_tokens=4_000))
    loader.load_for("send this to the librarian")  # a Change: what came, went, and had no room
    loader.definitions()  # for the model
    await loader.call("route_to", '{"target": "librarian", "message": "where is auth?"}', ctx)  # JSON
    loader.next_turn()

``CONTROL`` are the skills by which a model governs its own: load_skill, unload_skill, loaded_skills and
skill_token_budget. Source: the spec's "Progressive Skill Disclosure".
"""

from sylk_ray.llm.tokens import TokenizerMissing, count_tokens
from sylk_ray.skills.calling import call, run
from sylk_ray.skills.control import CONTROL, SkillContext
from sylk_ray.skills.definition import skill
from sylk_ray.skills.errors import (
    CoreOverBudget,
    CoreStaysLoaded,
    DuplicateSkill,
    InvalidArguments,
    InvalidSkill,
    OverBudget,
    SkillFailed,
    SkillNotLoaded,
    UnknownDomain,
    UnknownSkill,
)
from sylk_ray.skills.installed import load_installed
from sylk_ray.skills.loader import Change, Disclosure, SkillLoader, TokenBudget
from sylk_ray.skills.model import Parameter, Permission, Skill, Tier
from sylk_ray.skills.problems import SkillProblem
from sylk_ray.skills.registry import Registry
from sylk_ray.skills.repository import load_repository
from sylk_ray.skills.tokens import tokens_of

__all__ = [
    "CONTROL",
    "Change",
    "CoreOverBudget",
    "CoreStaysLoaded",
    "Disclosure",
    "DuplicateSkill",
    "InvalidArguments",
    "InvalidSkill",
    "OverBudget",
    "Parameter",
    "Permission",
    "Registry",
    "Skill",
    "SkillContext",
    "SkillFailed",
    "SkillLoader",
    "SkillNotLoaded",
    "SkillProblem",
    "Tier",
    "TokenBudget",
    "TokenizerMissing",
    "UnknownDomain",
    "UnknownSkill",
    "call",
    "count_tokens",
    "load_installed",
    "load_repository",
    "run",
    "skill",
    "tokens_of",
]
