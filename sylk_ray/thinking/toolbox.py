"""Tools for a model: what each needs to be permitted, and one place that permits, checks and bounds them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.llm import Tool
from sylk_ray.thinking.schemas import schema_of

FunctionT = TypeVar("FunctionT", bound=Callable[..., Awaitable[str]])

Permission = Literal["filesystem.read", "filesystem.write", "shell", "network", "search", "database", "install"]

LONGEST = 24_000
"""Characters of an answer; of a longer one the beginning and the end are told."""


class Answer(msgspec.Struct, frozen=True):
    """What the model is told of a call. ``denied`` names the permission that was lacking."""

    text: str
    failed: bool = False
    denied: str = ""


class Usable(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A tool and what it needs."""

    name: str
    description: str
    parameters: dict[str, Any]
    needs: frozenset[Permission]
    looks: bool
    """Whether it changes nothing, so that several may be used at once."""
    function: Callable[..., Awaitable[str]]
    arguments: type[msgspec.Struct]

    @property
    def tool(self) -> Tool:
        """As a model is told of it."""
        return Tool(self.name, self.description, self.parameters)


def usable(function: Callable[..., Awaitable[str]], *needs: Permission, looks: bool = False) -> Usable:
    """A tool of an async function: its name, its docstring and its annotated parameters, whose ``msgspec.Meta`` says
    what they are."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        given = (name, hints[name])
        fields.append(given if parameter.default is parameter.empty else (*given, parameter.default))
    name = getattr(function, "__name__", "")
    arguments = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    return Usable(
        name=name,
        description=inspect.cleandoc(function.__doc__ or ""),
        parameters=schema_of(arguments),
        needs=frozenset(needs),
        looks=looks,
        function=function,
        arguments=arguments,
    )


class Toolbox:
    """The tools of one agent, and what it is ``granted``. What needs more is not offered, and refused when it is called
    all the same."""

    def __init__(self, tools: Iterable[Usable], granted: frozenset[Permission]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.granted = granted

    def offered(self) -> tuple[Tool, ...]:
        """For the model."""
        return tuple(tool.tool for tool in self._tools.values() if tool.needs <= self.granted)

    def get(self, name: str) -> Usable | None:
        """A tool by its name, permitted or not."""
        return self._tools.get(name)

    def looks(self, name: str) -> bool:
        """Whether a call changes nothing; one that will be refused does not either."""
        tool = self._tools.get(name)
        return tool is None or tool.looks

    async def use(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What came of it, in words for the model: an error of ours as well as of its arguments."""
        tool = self._tools.get(name)
        if tool is None:
            return Answer(f"there is no tool {name}; there are: {', '.join(sorted(self._tools))}", failed=True)
        if lacking := sorted(tool.needs - self.granted):
            has = ", ".join(sorted(self.granted)) or "nothing"
            return Answer(f"{name} needs the permission {lacking[0]}; granted: {has}", failed=True, denied=lacking[0])
        try:
            given = msgspec.convert(dict(arguments), tool.arguments)
            values = {field: getattr(given, field) for field in tool.arguments.__struct_fields__}
            return Answer(shortened(await tool.function(**values)))
        except msgspec.ValidationError as problem:
            return Answer(f"the arguments of {name} are wrong: {problem}", failed=True)
        except SylkError as error:
            return Answer(
                shortened(f"{error.message}\nhint: {error.hint}" if error.hint else error.message), failed=True
            )


def shortened(text: str, longest: int = LONGEST) -> str:
    """Its beginning and its end, when it is longer."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters are left out here ...\n{text[-half:]}"
