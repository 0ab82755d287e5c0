"""Skills that a repository brings along, as Python files in its ``.sylk/skills``.

They are code of whoever wrote the repository and run with all the rights of this process, so they are read only when
the person allowed it. They are compiled here and not imported, which would leave compiled files in the repository.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from sylk_ray.errors import SylkError
from sylk_ray.skills.installed import skills_in
from sylk_ray.skills.model import Skill
from sylk_ray.skills.problems import SkillProblem
from sylk_ray.skills.registry import Registry

FOLDER = Path(".sylk") / "skills"


def load_repository(registry: Registry, repository: Path, *, allowed: bool) -> list[SkillProblem]:
    """Add the skills of a repository's files, in the order of their names; one that is broken keeps no other out."""
    files = sorted((repository / FOLDER).glob("*.py"))
    if files and not allowed:
        left = "its skills were not read"
        return [SkillProblem(str(repository / FOLDER), left, hint="their code runs with your rights: allow it first")]
    problems: list[SkillProblem] = []
    for path in files:
        try:
            found = _skills_of(path)
            if not found:
                problems.append(SkillProblem(str(path), "defines no skill", hint="mark a function with @skill(...)"))
            for each in found:
                registry.add(each)
        except SylkError as problem:
            problems.append(SkillProblem(str(path), problem.message, _line_of(problem, path), problem.hint))
        except (Exception, SystemExit) as problem:
            told = problem.msg if isinstance(problem, SyntaxError) else str(problem)
            problems.append(SkillProblem(str(path), f"{type(problem).__name__}: {told}", _line_of(problem, path)))
    return problems


def _skills_of(path: Path) -> list[Skill]:
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    module = ModuleType(f"sylk_repository_skills_{digest}.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pydantic look for the names of its types
    try:
        exec(code, vars(module))
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return skills_in(module)


def _line_of(problem: BaseException, path: Path) -> int:
    if isinstance(problem, SyntaxError) and problem.filename == str(path):
        return problem.lineno or 0
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else 0
