"""From a function's signature to a pydantic model that validates a call.

pydantic, because it tells all that is wrong with a call at once, and knows enums, dataclasses and constraints
(``Annotated[int, Field(ge=1)]``). Validation is strict: the schema says what is to be sent, and a value that would have
to be guessed at ("yes" for true) is answered with an error instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Annotated, Any, cast, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticSerializationError, SchemaError, to_jsonable_python

from sylk_ray.skills.model import Parameter
from sylk_ray.skills.schema import schema_of

_CONTEXTS = {"ctx", "context", ""}


class Unsuitable(Exception):
    """Why a function cannot be a skill; ``definition`` adds which and where."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def arguments_of(function: Callable[..., Any], descriptions: Mapping[str, str]) -> type[BaseModel]:
    """The model of a function's parameters after the first, which is the context. Raises Unsuitable."""
    parameters = _after_the_context(function)
    if unknown := descriptions.keys() - {each.name for each in parameters}:
        raise Unsuitable(
            f"its docstring describes {min(unknown)!r}, which is no parameter", "correct the name in the docstring"
        )
    types = _types_of(function, parameters)
    # Numbered names, because a parameter may be called what pydantic calls something of its own ("schema", "copy").
    fields: dict[str, Any] = {}
    for number, each in enumerate(parameters):
        described = types[each.name]
        if descriptions.get(each.name):
            described = Annotated[described, Field(description=descriptions[each.name])]
        default = ... if each.default is each.empty else each.default
        fields[f"argument_{number}"] = (described, Field(default, alias=each.name))
    config = ConfigDict(extra="forbid", strict=True)
    try:
        arguments = create_model(f"{function.__name__}_arguments", __config__=config, **fields)
    except (PydanticUserError, SchemaError, TypeError):
        raise _unsupported(types) from None
    _check_defaults(arguments, {each.name: each.default for each in parameters if each.default is not each.empty})
    return arguments


def schema_and_parameters(arguments: type[BaseModel]) -> tuple[dict[str, Any], tuple[Parameter, ...]]:
    """What a model is told of the arguments, together and each. Raises Unsuitable."""
    try:
        schema = schema_of(arguments)
        msgspec.json.encode(schema)
    except (PydanticUserError, TypeError) as problem:
        raise Unsuitable(f"its parameters have no JSON schema: {problem}", _SUPPORTED) from None
    required = set(schema.get("required", ()))
    return schema, tuple(
        Parameter(name, each, name in required, each.get("description", ""))
        for name, each in cast("dict[str, dict[str, Any]]", schema["properties"]).items()
    )


_SUPPORTED = "use str, int, float, bool, Literal, an enum, list, dict, a dataclass, a TypedDict or a pydantic model"


def _after_the_context(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].name.strip("_") not in _CONTEXTS:
        raise Unsuitable("its first parameter is not a context", f"write `async def {function.__name__}(ctx, ...)`")
    for each in parameters[1:]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise Unsuitable(f"{str(each).split(':')[0]!r} cannot be given by its name", "name each parameter")
        if each.annotation is each.empty:
            raise Unsuitable(f"the parameter {each.name!r} has no type", f"write `{each.name}: str`, or what it is")
    return parameters[1:]


def _types_of(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for each in parameters:
        # Each alone: the context's type is often imported for type checkers only.
        declared = cast("Callable[..., Any]", SimpleNamespace(__annotations__={each.name: each.annotation}))
        try:
            types |= get_type_hints(declared, function.__globals__, include_extras=True)
        except NameError as problem:
            raise Unsuitable(
                f"the type of {each.name!r} cannot be resolved: {problem}", "import it at the top level of the module"
            ) from None
        except TypeError as problem:
            raise Unsuitable(f"the type of {each.name!r} is not one: {problem}", _SUPPORTED) from None
        if types[each.name] in (Any, object):
            raise Unsuitable(f"the type of {each.name!r} says nothing", _SUPPORTED)
    return types


def _unsupported(types: Mapping[str, Any]) -> Unsuitable:
    """Which one it was, after pydantic has refused them together."""
    for name, each in types.items():
        try:
            TypeAdapter(each)
        except (PydanticUserError, SchemaError, TypeError) as problem:
            cause = str(problem).partition(".")[0]
            return Unsuitable(f"the type of {name!r} is not supported: {cause}", _SUPPORTED)
    return Unsuitable("its parameters' types are not supported together", _SUPPORTED)


def _check_defaults(arguments: type[BaseModel], defaults: Mapping[str, Any]) -> None:
    wrong: set[int | str] = set()
    try:
        arguments.model_validate(defaults)
    except ValidationError as problem:
        wrong = {each["loc"][0] for each in problem.errors() if each["type"] != "missing"}
    for name, default in defaults.items():
        if name in wrong or not _is_json(default):
            raise Unsuitable(
                f"the default of {name!r} is {default!r}, which is not of its type or is not JSON",
                "correct the default or the type",
            )


def _is_json(value: Any) -> bool:
    try:
        to_jsonable_python(value)
    except PydanticSerializationError:
        return False
    return True
