"""JSON schemas as models take them: one object without references, without what only we need."""

from __future__ import annotations

from typing import Any, cast

import msgspec


def schema_of(type_: type[msgspec.Struct]) -> dict[str, Any]:
    """Of a struct that does not contain itself."""
    (schema,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    return _inlined(schema, parts)


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return _inlined({**parts[given["$ref"]], **{key: given[key] for key in given if key != "$ref"}}, parts)
    inlined = {key: _inlined(value, parts) for key, value in given.items() if key not in ("title", "properties")}
    if "properties" in given:
        inlined["properties"] = {name: _inlined(each, parts) for name, each in given["properties"].items()}
    return inlined
