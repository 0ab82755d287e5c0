"""A JSON schema for a model: all that it needs to make a call, in as few tokens as that takes."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel

_NAMED = {"properties", "$defs", "patternProperties"}
_LISTED = {"anyOf", "oneOf", "allOf", "prefixItems"}
_SINGLE = {"items", "additionalProperties", "contains", "not"}
_NULL = {"type": "null"}


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Without titles, which repeat names, and without the null of an argument that can be left out."""
    schema = _plain(arguments.model_json_schema())
    return {"type": "object", "properties": {}, **schema}


def _plain(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key in _NAMED:
            plain[key] = {name: _plain(each) for name, each in value.items()}
        elif key in _LISTED:
            plain[key] = [_plain(each) for each in value]
        elif key in _SINGLE:
            plain[key] = _plain(value)
        elif key != "title":
            plain[key] = value
    return _without_null(plain)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "default" not in schema or schema["default"] is not None or _NULL not in schema.get("anyOf", ()):
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    alternatives = [each for each in schema["anyOf"] if each != _NULL]
    return {**rest, **alternatives[0]} if len(alternatives) == 1 else {**rest, "anyOf": alternatives}
