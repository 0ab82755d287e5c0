"""A session's weight and limits as a person changes them: a few fields at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sylk_ray.dag.nearest import did_you_mean
from sylk_ray.fairness import Group, InvalidGroup

FIELDS = Group.__struct_fields__


def group_with(group: Group, changes: Mapping[str, Any]) -> Group:
    """The group with some fields changed; None lifts a limit. Raises InvalidGroup, naming the field."""
    for name in changes:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS) or f"there are {', '.join(FIELDS)}"
            raise InvalidGroup(f'a group has no field "{name}"', hint=hint)
    try:
        return msgspec.convert({**msgspec.to_builtins(group), **changes}, Group)
    except msgspec.ValidationError as problem:
        told, _, where = str(problem).partition(" - at `$.")
        name = where.rstrip("`")
        raise InvalidGroup(f"a group's {name} is {changes.get(name)!r}: {told[:1].lower()}{told[1:]}") from problem
