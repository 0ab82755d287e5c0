"""Values are made to follow a schema in the one obvious way; what is left is told precisely."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.llm.tolerant import fit


def closed(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}


@pytest.mark.parametrize(
    ("value", "schema", "made", "repair"),
    [
        ("3", WHOLE, 3, "text for an integer"),
        (" -12 ", WHOLE, -12, "text for an integer"),
        ("3.5", {"type": "number"}, 3.5, "text for a number"),
        ("3", {"type": "number"}, 3, "text for a number"),
        ("True", {"type": "boolean"}, True, "text for true or false"),
        ("false", {"type": "boolean"}, False, "text for true or false"),
        (3, TEXT, "3", "number for a text"),
        ("a.py", TEXTS, ["a.py"], "one for a list"),
        ('["a.py", "b.py"]', TEXTS, ["a.py", "b.py"], "text for a list"),
        ("{'a': 1}", {"type": "object"}, {"a": 1}, "text for an object"),
        ({"a": 1}, {"type": "array", "items": {"type": "object"}}, [{"a": 1}], "one for a list"),
        (["1", "2"], {"type": "array", "items": WHOLE}, [1, 2], "text for an integer"),
        ("High", {"enum": ["low", "high"]}, "high", "spelling of a choice"),
        ("3", {"anyOf": [WHOLE, {"type": "null"}]}, 3, "text for an integer"),
        ({"filePath": "a"}, closed(("file_path",), file_path=TEXT), {"file_path": "a"}, '"filePath" for "file_path"'),
        ({"pattren": "a"}, closed(("pattern",), pattern=TEXT), {"pattern": "a"}, '"pattren" for "pattern"'),
        ({"paths": "a"}, closed(("path",), path=TEXT), {"path": "a"}, '"paths" for "path"'),
        ({"a": "x", "b": None}, closed(("a",), a=TEXT, b=TEXT), {"a": "x"}, "null for what is left out"),
        ({"n": "1"}, {"$ref": "#/$defs/N", "$defs": {"N": closed(("n",), n=WHOLE)}}, {"n": 1}, "text for an integer"),
        ("None", {"type": "null"}, None, "text for null"),
    ],
)
def test_there_is_one_obvious_way(value: Any, schema: dict[str, Any], made: Any, repair: str):
    fitted = fit(value, schema)
    assert (fitted.value, fitted.repairs, fitted.problems) == (made, (repair,), ())
    jsonschema.validate(made, schema)


@pytest.mark.parametrize(
    ("value", "schema", "told"),
    [
        ("three", WHOLE, 'the value: "three" was given, and an integer is wanted'),
        (3.5, WHOLE, "3.5 was given, and an integer is wanted"),
        (True, WHOLE, "true was given"),
        ("yes", {"type": "boolean"}, "a boolean is wanted"),
        (True, TEXT, "a string is wanted"),
        (None, TEXTS, "null was given, and a list of a string is wanted"),
        ("hgh", {"enum": ["low", "high"]}, 'one of "low", "high" (did you mean "high"?) is wanted'),
        ({}, closed(("path",), path=TEXT), "path: it is missing; a string is wanted"),
        ({"filename": "a"}, closed(("path",), path=TEXT), "filename: there is no such name (the names are: path)"),
        ({"path": "a", "pth": "b"}, closed(("path",), path=TEXT), 'pth: there is no such name; did you mean "path"?'),
        ({"x1": 1}, closed(("x2",), x2=WHOLE), "x1: there is no such name"),
        ({"minimum": 1}, closed((), maximum=WHOLE), "minimum: there is no such name"),
        ({"a": {"b": ["x"]}}, closed((), a=closed((), b={"type": "array", "items": WHOLE})), 'a.b[0]: "x" was given'),
        (0, {"type": "integer", "minimum": 1}, "at least 1 is wanted"),
        ([], {"type": "array", "minItems": 1}, "at least 1 entries is wanted"),
        ("abc", {"type": "string", "maxLength": 2}, "at most 2 characters is wanted"),
        ("abc", {"type": "string", "pattern": "^x"}, "a text that matches ^x"),
        ("3", {"anyOf": [WHOLE, {"type": "number"}, TEXTS]}, "can only be one of"),
        ([1], {"anyOf": [WHOLE, TEXT]}, "an integer or a string is wanted"),
        (2, {"const": 1}, "1 is wanted"),
    ],
)
def test_what_is_not_obvious_is_told(value: Any, schema: dict[str, Any], told: str):
    problems = fit(value, schema).problems
    assert len(problems) >= 1
    assert told in "\n".join(problems)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)


def test_all_that_is_wrong_is_told_at_once():
    schema = closed(("a", "b"), a=WHOLE, b=TEXT, c=TEXT)
    told = fit({"a": "x", "d": 1}, schema).problems
    assert [each.partition(":")[0] for each in told] == ["a", "d", "b"]


def test_what_only_repeats_a_description_is_left_out_where_it_may_be():
    told = {"type": "string", "description": "What to ask."}
    schema = {
        "type": "object",
        "properties": {"ask": told, "must": told, "each": {"type": "array", "items": told, "description": "Some."}},
        "required": ["must"],
    }
    fitted = fit({"ask": "What to ask.", "must": "What to ask.", "each": ["Some."]}, schema)
    assert (fitted.value, fitted.problems) == ({"must": "What to ask."}, ())
    assert fitted.repairs == ("description for a value",)
    assert fit({"ask": "What?", "must": "x", "each": ["Some.", "b"]}, schema).repairs == ()


def test_names_that_are_free_to_choose_are_not_corrected():
    schema = {"type": "object", "properties": {"path": TEXT}}
    assert fit({"paths": "a"}, schema).value == {"paths": "a"}


def test_alternatives_within_alternatives_come_to_an_end():
    kinds = [{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": [name]} for name in "xyz"]
    value: Any = "end"
    for _ in range(40):
        value = {"a": value}
    assert fit(value, {"anyOf": [*kinds, {"type": "string"}]}).problems == (
        "the value: it is nested too deeply; give a simpler one",
    )


SCHEMAS = st.recursive(
    st.sampled_from([TEXT, WHOLE, {"type": "number"}, {"type": "boolean"}, {"type": "null"}, {"enum": ["a", "b", 1]}]),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda a, b: closed(("first",), first=a, second=b), inner, inner)
        | st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([None, True, False, "a", "B", "3", "true", "[1]", "{}"]) | st.integers(-5, 5) | st.floats(-5, 5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["first", "second", "First", "third"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, SCHEMAS)
def test_what_has_no_problem_follows_the_schema_and_what_follows_it_is_left_alone(value: Any, schema: dict[str, Any]):
    follows = jsonschema.Draft202012Validator(schema).is_valid
    fitted = fit(value, schema)
    if follows(value):
        assert (fitted.value, fitted.repairs, fitted.problems) == (value, (), ())
    if not fitted.problems:
        assert follows(fitted.value)


@pytest.mark.parametrize("word", ["None", "null", "n/a", ""])
def test_a_list_of_a_word_for_nothing_is_left_out_where_it_may_be(word):
    names = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"after": names, "must": names}, "required": ["must"]}
    fitted = fit({"after": [word], "must": [word]}, schema)
    assert (fitted.value, fitted.repairs) == ({"must": [word]}, ("a word for an empty list",))
    more = {"after": [word, "tea"], "must": []}
    assert fit(more, schema).value == more
