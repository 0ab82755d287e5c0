"""A call of a skill: JSON in, JSON out, and errors that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from sylk_ray.dag import did_you_mean
from sylk_ray.errors import SylkError
from sylk_ray.skills.errors import InvalidArguments, SkillFailed
from sylk_ray.skills.model import Skill

_SHOWN = 80
"""How many characters of a wrong value are shown."""


async def run(skill: Skill, arguments: str | bytes | Mapping[str, Any], ctx: Any) -> Any:
    """Run a skill with arguments as JSON, or as what JSON was decoded to.

    Raises InvalidArguments, SkillFailed, or the error of sylk_ray that the skill raised.
    """
    given = _validated(skill, arguments)
    try:
        return await skill.function(ctx, **given)
    except SylkError:
        raise
    except (Exception, SystemExit) as problem:
        raise SkillFailed(f"{skill.name} failed: {type(problem).__name__}: {problem}") from problem


async def call(skill: Skill, arguments: str | bytes | Mapping[str, Any], ctx: Any) -> str:
    """As ``run``; returns the result as JSON."""
    result = await run(skill, arguments, ctx)
    try:
        return msgspec.json.encode(result, enc_hook=to_jsonable_python).decode()
    except Exception as problem:
        raise SkillFailed(
            f"{skill.name} returned what is not JSON: {problem}", hint=f"correct the skill at {skill.place}"
        ) from problem


def _validated(skill: Skill, arguments: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(arguments) if isinstance(arguments, Mapping) else arguments
    sent = text.encode("utf-8", "replace") if isinstance(text, str) else text
    try:
        model = skill.arguments.model_validate_json(sent if sent.strip() else b"{}")
    except ValidationError as problem:
        raise _told(skill, problem) from None
    return {field.alias or name: getattr(model, name) for name, field in type(model).model_fields.items()}


def _told(skill: Skill, problem: ValidationError) -> InvalidArguments:
    lines = [_line(each, [parameter.name for parameter in skill.parameters]) for each in problem.errors()]
    names = [each.name + ("" if each.required else " (optional)") for each in skill.parameters]
    return InvalidArguments(
        "\n".join([f"the arguments of {skill.name} are wrong:", *lines]),
        hint=f"call {skill.name} again with an object of: {', '.join(names)}" if names else "it takes no arguments",
    )


def _line(error: ErrorDetails, names: list[str]) -> str:
    where = _path(error["loc"])
    if error["type"] == "missing":
        return f"- {where}: is required"
    if error["type"] == "extra_forbidden":
        nearest = did_you_mean(str(error["loc"][-1]), names) if len(error["loc"]) == 1 else ""
        return f"- {where}: there is no such parameter" + (f"; {nearest}" if nearest else "")
    value = msgspec.json.encode(error["input"], enc_hook=repr).decode()
    shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
    return f"- {where}: {error['msg']}, and not {shown}" if where else f"- {error['msg']}"


def _path(steps: tuple[int | str, ...]) -> str:
    told = ""
    for step in steps:
        told += f"[{step}]" if isinstance(step, int) else f".{step}" if told else step
    return told
