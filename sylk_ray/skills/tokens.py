"""What telling a model of a skill costs, in tokens."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from sylk_ray.llm.tokens import count_tokens
from sylk_ray.skills.model import Skill


@lru_cache(maxsize=4096)
def tokens_of(skill: Skill) -> int:
    """Tokens of a skill's definition, counted once: all agents of a process load the same skills."""
    return count_tokens(msgspec.json.encode(skill.definition).decode())
