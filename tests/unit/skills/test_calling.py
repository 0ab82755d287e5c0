"""Calls: JSON in and out, and errors that a model can act on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from sylk_ray.errors import InputError
from sylk_ray.skills import InvalidArguments, SkillFailed, call, skill
from tests.unit.skills.test_definition import Colour, Point, route


@skill(domain="echo")
async def echo(ctx: Any, schema: Point, copy: list[Colour], model_config: int = 1) -> Any:
    """Give back what it was given."""
    return [ctx, schema, copy, model_config]


class Answer(msgspec.Struct):
    what: Any


class Model(BaseModel):
    n: int = 1


@dataclass
class Record:
    model: Model


async def test_arguments_arrive_as_their_types_under_any_name():
    result = await call(echo, '{"schema": {"x": 1}, "copy": ["blue"]}', "context")
    assert json.loads(result) == ["context", {"x": 1, "title": "none"}, ["blue"], 1]


@pytest.mark.parametrize("given", ["", b" ", "{}", {}])
async def test_no_arguments_can_be_said_in_any_way(given):
    @skill(domain="echo")
    async def nothing(ctx: Any) -> None:
        """Do nothing."""

    assert await call(nothing, given, None) == "null"


async def test_all_that_is_wrong_is_told_at_once():
    wrong = {"target": "nobody", "mesage": "hi", "limit": "5", "context": {}, "colours": ["red", 7]}
    with pytest.raises(InvalidArguments) as refused:
        await call(route, wrong, None)
    assert refused.value.message.splitlines() == [
        "the arguments of route are wrong:",
        """- target: Input should be 'architect' or 'librarian', and not "nobody\"""",
        "- message: is required",
        '- limit: Input should be a valid integer, and not "5"',
        "- colours[1]: Input should be 'red' or 'blue', and not 7",
        '- mesage: there is no such parameter; did you mean "message"?',
    ]
    assert refused.value.hint.startswith("call route again with an object of: target, message, copy (optional)")


@pytest.mark.parametrize(
    ("given", "told"), [("{bad", "Invalid JSON"), ("[]", "Input should be an object"), ("\ud800", "Invalid JSON")]
)
async def test_what_is_not_an_object_is_refused(given, told):
    with pytest.raises(InvalidArguments, match=told):
        await call(route, given, None)


async def test_a_long_wrong_value_is_cut():
    with pytest.raises(InvalidArguments) as refused:
        await call(route, {"target": "x" * 1_000, "message": ""}, None)
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (Answer(Record(Model())), '{"what":{"model":{"n":1}}}'),
        ({Colour.RED: (1, None)}, '{"red":[1,null]}'),
        ("a\nb", r'"a\nb"'),
    ],
)
async def test_results_of_any_kind_come_back_as_json(result, text):
    @skill(domain="echo")
    async def give(ctx: Any) -> Any:
        """Give it."""
        return result

    assert await call(give, "", None) == text


async def test_a_result_that_is_not_json_names_the_skill():
    @skill(domain="echo")
    async def strange(ctx: Any) -> Any:
        """Give an object."""
        return object()

    with pytest.raises(SkillFailed, match="strange returned what is not JSON"):
        await call(strange, "", None)


@pytest.mark.parametrize(
    ("raised", "seen", "told"),
    [
        (ValueError("no such row"), SkillFailed, "fail failed: ValueError: no such row"),
        (InputError("no such file"), InputError, "no such file"),
    ],
)
async def test_what_a_skill_raises_reaches_the_caller(raised, seen, told):
    @skill(domain="echo")
    async def fail(ctx: Any) -> None:
        """Fail."""
        raise raised

    with pytest.raises(seen, match=told):
        await call(fail, "", None)
