"""Which points a search may find: a small algebra over the fields of their payloads, the same for every engine::

All((Equals("language", "python"), Not(Equals("tests", True)), Within("src/parser")))
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TypeAlias

import msgspec

Value: TypeAlias = str | int | bool

KEYWORD_FIELDS = ("type", "language", "session")
PATH_FIELD = "path"
BOOL_FIELDS = ("tests",)
FIELDS = (*KEYWORD_FIELDS, PATH_FIELD, *BOOL_FIELDS)
"""What has an index. Other fields can be asked for as well, and are looked at one by one."""


class Equals(msgspec.Struct, frozen=True, tag=True):
    """The field has this value."""

    field: str
    value: Value


class AnyOf(msgspec.Struct, frozen=True, tag=True):
    """The field has one of these values; nothing when there are none."""

    field: str
    values: tuple[str, ...] | tuple[int, ...]


class NoneOf(msgspec.Struct, frozen=True, tag=True):
    """The field has none of these values, or is not there."""

    field: str
    values: tuple[str, ...] | tuple[int, ...]


class KeyIn(msgspec.Struct, frozen=True, tag=True):
    """The point's key is one of these."""

    keys: frozenset[int]


class Within(msgspec.Struct, frozen=True, tag=True):
    """The path is this one, or below it: ``src/a`` holds ``src/a/b.py``, and not ``src/ab``. Empty holds all paths."""

    path: str


class All(msgspec.Struct, frozen=True, tag=True):
    """Every part holds; true when there are none."""

    parts: tuple[Condition, ...]


class Some(msgspec.Struct, frozen=True, tag=True):
    """One part holds or more; false when there are none."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True, tag=True):
    """The part does not hold."""

    part: Condition


Condition: TypeAlias = Equals | AnyOf | NoneOf | KeyIn | Within | All | Some | Not


def ancestors(path: str) -> list[str]:
    """A path and each folder above it, the top one first: what ``Within`` may name."""
    pure = PurePosixPath(path)
    return [*(str(each) for each in reversed(pure.parents) if str(each) != "."), str(pure)]


def holds(condition: Condition, key: int, payload: dict[str, Value]) -> bool:
    """What every engine must agree with."""
    match condition:
        case Equals(field, value):
            found = payload.get(field)
            return type(found) is type(value) and found == value
        case AnyOf(field, values):
            return payload.get(field) in values
        case NoneOf(field, values):
            return payload.get(field) not in values
        case KeyIn(keys):
            return key in keys
        case Within(path):
            found = payload.get(PATH_FIELD)
            return isinstance(found, str) and (not path or path.rstrip("/") in ancestors(found))
        case All(parts):
            return all(holds(each, key, payload) for each in parts)
        case Some(parts):
            return any(holds(each, key, payload) for each in parts)
        case Not(part):
            return not holds(part, key, payload)
