"""What a function says becomes what a model is told, or an error at the definition."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import Field

from sylk_ray.skills import CONTROL, DuplicateSkill, InvalidSkill, Parameter, Skill, count_tokens, skill, tokens_of
from sylk_ray.skills.docstrings import parse

if TYPE_CHECKING:
    from tests.unit.skills.nowhere import Context  # known to type checkers only


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    title: str = "none"


@skill(domain="routing", keywords=["@to", "send"], tier="core")
async def route(
    ctx: Context,
    target: Literal["architect", "librarian"],
    message: str,
    copy: bool = False,
    limit: Annotated[int, Field(ge=1)] = 20,
    context: dict[str, Any] | None = None,
    colours: tuple[Colour, ...] = (Colour.RED,),
) -> str:
    """Route a message to another agent.

    It goes through the Guide.

    Args:
        target: The role
            that it is for.
        message (str): What to say: to it.
    """
    return f"{target}: {message} {copy} {limit} {context} {colours}"


def test_a_skill_says_what_its_function_says():
    assert (route.name, route.domain, route.tier, route.keywords) == ("route", "routing", "core", ("@to", "send"))
    assert route.description == "Route a message to another agent.\n\nIt goes through the Guide."
    assert route.schema == {
        "type": "object",
        "properties": {
            "target": {
                "type": "string",
                "enum": ["architect", "librarian"],
                "description": "The role that it is for.",
            },
            "message": {"type": "string", "description": "What to say: to it."},
            "copy": {"type": "boolean", "default": False},
            "limit": {"type": "integer", "minimum": 1, "default": 20},
            "context": {"type": "object", "additionalProperties": True},
            "colours": {"type": "array", "items": {"$ref": "#/$defs/Colour"}, "default": ["red"]},
        },
        "required": ["target", "message"],
        "additionalProperties": False,
        "$defs": {"Colour": {"type": "string", "enum": ["red", "blue"]}},
    }
    jsonschema.Draft202012Validator.check_schema(route.schema)
    assert route.parameters[1] == Parameter(
        "message", {"type": "string", "description": "What to say: to it."}, True, "What to say: to it."
    )
    assert [each.name for each in route.parameters if each.required] == ["target", "message"]


def test_a_property_that_is_called_title_stays():
    async def draw(ctx: Any, title: str, point: Point) -> None:
        """Draw."""

    made = skill(domain="drawing")(draw)
    assert set(made.schema["properties"]) == {"title", "point"}
    assert set(made.schema["$defs"]["Point"]["properties"]) == {"x", "title"}
    assert "title" not in made.schema["$defs"]["Point"]


def test_its_cost_is_that_of_its_definition_as_json():
    assert tokens_of(route) == count_tokens(json.dumps(route.definition, separators=(",", ":"), ensure_ascii=False))
    assert 100 < tokens_of(route) < 200
    assert sum(tokens_of(each) for each in CONTROL) < 250


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("\ud800", 1)])
def test_any_text_can_be_counted(text, tokens):
    assert count_tokens(text) == tokens


def test_counting_leaves_the_rest_of_the_tokenizers_package_unloaded():
    count_tokens("hello")
    assert "bpe_openai" not in sys.modules


async def untyped(ctx: Any, path) -> None:
    """Do."""


async def undescribed(ctx: Any) -> None: ...


async def without_context(path: str) -> None:
    """Do."""


async def without_anything() -> None:
    """Do."""


async def starred(ctx: Any, *paths: str) -> None:
    """Do."""


async def unsupported(ctx: Any, path: Skill) -> None:
    """Do."""


async def callback(ctx: Any, call: Callable[[], None]) -> None:
    """Do."""


async def unresolvable(ctx: Any, path: Nowhere) -> None:  # noqa: F821
    """Do."""


async def anything(ctx: Any, path: Any) -> None:
    """Do."""


async def wrong_default(ctx: Any, path: str = 3) -> None:
    """Do."""


async def misdescribed(ctx: Any, path: str) -> None:
    """Do.

    Args:
        paht: Where.
    """


def synchronous(ctx: Any) -> None:
    """Do."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (untyped, "the parameter 'path' has no type"),
        (undescribed, "it has no docstring"),
        (without_context, "its first parameter is not a context"),
        (without_anything, "its first parameter is not a context"),
        (starred, "'*paths' cannot be given by its name"),
        (unsupported, "the type of 'path' is not supported"),
        (callback, "its parameters have no JSON schema"),
        (unresolvable, "the type of 'path' cannot be resolved: name 'Nowhere' is not defined"),
        (anything, "the type of 'path' says nothing"),
        (wrong_default, "the default of 'path' is 3"),
        (misdescribed, "its docstring describes 'paht', which is no parameter"),
        (synchronous, "it is not async"),
    ],
)
def test_a_function_that_cannot_be_a_skill_is_refused_at_its_definition(function, message):
    with pytest.raises(InvalidSkill) as refused:
        skill(domain="doing")(function)
    assert message in refused.value.message
    line = function.__code__.co_firstlineno
    assert f"test_definition.py:{line}: the skill {function.__name__!r}" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "two words"}, "its name is not one"),
        ({"domain": " "}, "it has no domain"),
        ({"tier": "best"}, "there is no tier 'best'"),
        ({"keywords": "import"}, "its keywords are 'import'"),
        ({"keywords": ["import", ""]}, "its keywords are"),
    ],
)
def test_a_decorator_with_a_wrong_value_is_refused(wrong, message):
    with pytest.raises(InvalidSkill, match=message):
        skill(**{"domain": "doing", **wrong})(route.function)


def test_a_second_skill_of_the_name_in_the_module_is_refused():
    async def other(ctx: Any) -> None:
        """Do."""

    with pytest.raises(DuplicateSkill, match=r"already defined at .*test_definition\.py"):
        skill(domain="doing", name="route")(other)


def test_sphinx_fields_describe_parameters_too():
    told = parse(
        """Do it.

        :param path: Where
            it is.
        :param int count: How often.
        :returns: Nothing.
        """
    )
    assert told == ("Do it.", {"path": "Where it is.", "count": "How often."})


def test_what_follows_a_section_belongs_to_the_description():
    told = parse(
        """Do it.

        Args:
            path: Where.

        Returns:
            What: was done.

        Only on Sundays.
        """
    )
    assert told == ("Do it.\n\nOnly on Sundays.", {"path": "Where."})


def test_what_a_skill_writes_is_named_by_a_parameter_of_it():
    async def write(ctx: Any, path: str) -> None:
        """Do."""

    assert skill(domain="doing", writes="path")(write).writes == "path"
    with pytest.raises(InvalidSkill, match="it has no parameter 'file'"):
        skill(domain="doing", writes="file")(write)
