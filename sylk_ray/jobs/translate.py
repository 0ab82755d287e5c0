"""From pydantic's errors to problems: plain words, the place in the file, and what was probably meant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sylk_ray.dag import did_you_mean
from sylk_ray.jobs.document import Place
from sylk_ray.jobs.fields import fields_at
from sylk_ray.jobs.problems import Path, Problem, told_path
from sylk_ray.jobs.sugar import FAULT, GRAPH_FAULT

_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping of fields",
    "model": "a mapping of fields",
}
_BOUNDS = {
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
    "too_short": "must not be empty",
    "string_pattern_mismatch": "this is not a name",
    "literal_error": "must be {expected}",
}


class _Found(msgspec.Struct):
    """One error of pydantic, with the part of its location that the document has."""

    error: ErrorDetails
    path: Path
    place: Place
    parent: Place
    expected: str = ""


def problems_of(error: ValidationError, model: type[BaseModel], root: Place) -> list[Problem]:
    """One problem for each thing that is wrong; the branches of a union are told as one."""
    errors = (each for each in error.errors(include_url=False) if each["type"] != GRAPH_FAULT)
    found = [_locate(each, root) for each in errors]
    deeper = {each.path[:length] for each in found for length in range(len(each.path))}
    alternatives: dict[Path, list[_Found]] = {}
    problems: list[Problem] = []
    for each in found:
        if not each.expected:
            problems.append(_problem(each, model))
        elif each.path not in deeper:
            alternatives.setdefault(each.path, []).append(each)
    problems.extend(_wrong_type(group) for group in alternatives.values())
    return list(dict.fromkeys(problems))


def _locate(error: ErrorDetails, root: Place) -> _Found:
    """Steps that the document does not have are pydantic's own (the branch of a union) and are left out."""
    path: Path = ()
    place = parent = root
    for step in error["loc"]:
        inner = place.at(step)
        if inner is not None:
            path, parent, place = (*path, step), place, inner
    kind, _, rest = error["type"].partition("_")
    expected = _EXPECTED.get(kind, "") if rest in _TYPE_ERRORS else ""
    return _Found(error, path, place, parent, expected)


_TYPE_ERRORS = {"type", "parsing", "parsing_size", "from_float", "attributes_type"}


def _problem(found: _Found, model: type[BaseModel]) -> Problem:
    kind, loc = found.error["type"], found.error["loc"]
    context: dict[str, Any] = found.error.get("ctx", {})
    if kind == "missing":
        path = (*found.path, loc[-1])
        return _at(found.place, path, f'the field "{loc[-1]}" is missing')
    if kind == "extra_forbidden":
        known = fields_at(model, loc[:-1])
        name = str(loc[-1])
        position = found.parent.keys.get(name, (found.place.line, found.place.column))
        hint = did_you_mean(name, known) or f"the fields here: {', '.join(known)}"
        return Problem(told_path(found.path), *position, f'there is no field "{name}" here', hint)
    if kind == FAULT:
        inner = found.place.at(context["field"])
        path = (*found.path, context["field"]) if inner else found.path
        return _at(inner or found.place, path, context["message"], context["hint"])
    if kind in _BOUNDS:
        return _at(found.place, found.path, _BOUNDS[kind].format_map(context), _form_hint(kind, found))
    return _at(found.place, found.path, found.error["msg"].removeprefix("Value error, "))


def _wrong_type(group: Sequence[_Found]) -> Problem:
    first = group[0]
    expected = " or ".join(dict.fromkeys(each.expected for each in group))
    given = first.error["input"]
    return _at(
        first.place,
        first.path,
        f"expected {expected}, got {_told(given)}",
        next(_type_hints(expected, given, first.place), ""),
    )


def _type_hints(expected: str, given: Any, place: Place) -> Iterator[str]:
    if "text" in expected and isinstance(given, bool | int | float) and place.text:
        yield f'put it in quotes: "{place.text}"'
    if expected == "text" and given is None:
        yield 'write "" for an empty text'
    if expected == "a list" and isinstance(given, str):
        yield f"write it as a list: [{given}]" if len(given) < 60 else 'begin each item with "- "'


def _form_hint(kind: str, found: _Found) -> str:
    if kind == "string_pattern_mismatch" and found.path == ("name",):
        return "use lower-case letters, digits, _ and -, starting with a letter"
    if kind == "string_pattern_mismatch":
        return "use letters, digits and _, starting with a letter"
    if kind == "literal_error" and isinstance(found.error["input"], str):
        return did_you_mean(found.error["input"], found.error.get("ctx", {})["expected"].split("'")[1::2])
    return ""


def _told(given: Any) -> str:
    if given is None:
        return "nothing"
    if isinstance(given, dict):
        return "a mapping"
    if isinstance(given, list | tuple):
        return "a list"
    told = json.dumps(given, ensure_ascii=False, default=str)
    return told if len(told) <= 60 else told[:57] + '..."'


def _at(place: Place, path: Path, message: str, hint: str = "") -> Problem:
    return Problem(told_path(path), place.line, place.column, message, hint)
