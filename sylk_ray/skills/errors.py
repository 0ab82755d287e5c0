"""What can be wrong with a skill, with a call of one, or with loading it."""

from __future__ import annotations

from sylk_ray.errors import InputError, SylkError


class InvalidSkill(InputError):
    """A function cannot be a skill; the message says where it is and what is missing."""

    code = "invalid_skill"


class DuplicateSkill(InputError):
    """Two skills have one name; the message says where each is."""

    code = "duplicate_skill"


class UnknownSkill(InputError):
    """There is no skill of that name; the hint has the nearest."""

    code = "unknown_skill"


class UnknownDomain(InputError):
    """No skill is of that domain; the hint has the nearest."""

    code = "unknown_domain"


class InvalidArguments(InputError):
    """A call's arguments do not fit; the message has a line for each problem, for the model that made the call."""

    code = "invalid_skill_arguments"


class SkillFailed(SylkError):
    """The function of a skill raised, or returned what is not JSON."""

    code = "skill_failed"


class SkillNotLoaded(InputError):
    """A skill was called, or should be unloaded, that is not loaded."""

    code = "skill_not_loaded"


class CoreStaysLoaded(InputError):
    """A core skill should be unloaded."""

    code = "core_skill_stays_loaded"


class OverBudget(SylkError):
    """A skill has no room beside the core skills, whatever else is unloaded."""

    code = "skill_over_budget"


class CoreOverBudget(InputError):
    """The core skills alone cost more than the whole budget."""

    code = "core_skills_over_budget"
