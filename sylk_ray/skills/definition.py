"""``@skill``: from a function to a Skill, or to an error that says what is wrong with it and where."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, get_args

import msgspec

from sylk_ray.skills.docstrings import parse
from sylk_ray.skills.errors import DuplicateSkill, InvalidSkill
from sylk_ray.skills.model import Permission, Skill, Tier
from sylk_ray.skills.parameters import Unsuitable, arguments_of, schema_and_parameters

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
"""What model providers take as the name of a function."""


def skill(
    *,
    domain: str,
    keywords: Iterable[str] = (),
    tier: Tier = "domain",
    only_looks: bool = False,
    writes: str = "",
    needs: Iterable[Permission] = (),
    name: str = "",
) -> Callable[[Callable[..., Awaitable[Any]]], Skill]:
    """Make an async function whose first parameter is a context a Skill; raises InvalidSkill or DuplicateSkill.

    A text that has one of the ``keywords`` (words or phrases, in any case), or the skill's name, loads it; one that
    ``only_looks`` may even be used because of them, where no model decides. Where it ``writes`` no file but one, that
    is the parameter that names it. What it ``needs`` is granted to agents that think (``sylk_ray.thinking``).
    """

    def define(function: Callable[..., Awaitable[Any]]) -> Skill:
        called = name or function.__name__
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        try:
            made = _define(function, called, place, domain, keywords, tier, only_looks)
            if writes and writes not in {each.name for each in made.parameters}:
                raise Unsuitable(f"it has no parameter {writes!r}", "writes= names the one with the path of the file")
            made = msgspec.structs.replace(made, writes=writes, needs=frozenset(needs))
        except Unsuitable as problem:
            raise InvalidSkill(f"{place}: the skill {called!r}: {problem.message}", hint=problem.hint) from None
        _refuse_a_second(function, made)
        return made

    return define


def _define(
    function: Callable[..., Awaitable[Any]],
    name: str,
    place: str,
    domain: str,
    keywords: Iterable[str],
    tier: Tier,
    only_looks: bool,
) -> Skill:
    if not _NAME.match(name):
        raise Unsuitable("its name is not one", "a letter, then up to 63 letters, digits, - and _")
    if not inspect.iscoroutinefunction(function):
        raise Unsuitable("it is not async", f"write `async def {function.__name__}`")
    if not domain.strip():
        raise Unsuitable("it has no domain", 'say what it is about, for example domain="routing"')
    if tier not in get_args(Tier):
        raise Unsuitable(f"there is no tier {tier!r}", f"one of {', '.join(get_args(Tier))}")
    words = (keywords,) if isinstance(keywords, str) else tuple(keywords)
    if isinstance(keywords, str) or not all(word.strip() for word in words):
        raise Unsuitable(f"its keywords are {keywords!r}", "give a list of words, none of them empty")
    told = parse(function.__doc__ or "")
    if not told.description:
        raise Unsuitable("it has no docstring", "say in one line what it does: the model chooses by that")
    arguments = arguments_of(function, told.parameters)
    schema, parameters = schema_and_parameters(arguments)
    return Skill(
        name=name,
        description=told.description,
        domain=domain,
        tier=tier,
        keywords=words,
        parameters=parameters,
        schema=schema,
        place=place,
        only_looks=only_looks,
        function=function,
        arguments=arguments,
    )


def _refuse_a_second(function: Callable[..., Awaitable[Any]], made: Skill) -> None:
    """Within a module; between modules it is the registry that refuses."""
    for known in function.__globals__.values():
        # A module that is run again defines the same function anew.
        if isinstance(known, Skill) and known.name == made.name and known.function.__name__ != function.__name__:
            raise DuplicateSkill(
                f"{made.place}: the skill {made.name!r} is already defined at {known.place}", hint="rename one of them"
            )
