"""Skills of installed packages: the entry-point group ``sylk.skills`` names a module, or one skill in it."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.skills.model import Skill
from sylk_ray.skills.problems import SkillProblem
from sylk_ray.skills.registry import Registry

GROUP = "sylk.skills"


def load_installed(registry: Registry) -> list[SkillProblem]:
    """Add every skill that an installed package declares; what is broken is told, and keeps no other out."""
    problems: list[SkillProblem] = []
    for entry in entry_points(group=GROUP):
        try:
            _add(registry, entry)
        except SylkError as problem:
            problems.append(SkillProblem(entry.value, problem.message, hint=problem.hint))
        except Exception as problem:
            problems.append(
                SkillProblem(entry.value, f"cannot be loaded: {type(problem).__name__}: {problem}", hint=_hint(entry))
            )
    return problems


def skills_in(module: ModuleType) -> list[Skill]:
    """Those at its top level, in their order, each once."""
    return list({id(each): each for each in vars(module).values() if isinstance(each, Skill)}.values())


def _add(registry: Registry, entry: EntryPoint) -> None:
    loaded: Any = entry.load()
    found = skills_in(loaded) if isinstance(loaded, ModuleType) else [loaded]
    if not found or not all(isinstance(each, Skill) for each in found):
        raise TypeError("it has no skill")
    for each in found:
        registry.add(each)


def _hint(entry: EntryPoint) -> str:
    return f"correct or uninstall {entry.dist.name}" if entry.dist else "correct the package that declares it"
