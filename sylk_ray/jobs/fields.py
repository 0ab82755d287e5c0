"""Which fields a model has at some place of a job: what a misspelt field is compared with."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel


def fields_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The names, as they are written, of the fields that the value at ``loc`` may have."""
    found: list[Any] = [model]
    for step in loc:
        found = [inner for outer in found for inner in _step(outer, step)]
    return [name for each in found if _is_model(each) for name in _names(each) if name != "kind"]


def _step(outer: Any, step: str | int) -> Iterator[Any]:
    if _is_model(outer):
        if "kind" in outer.model_fields and outer.model_fields["kind"].default == step:
            yield outer
        for name, field in outer.model_fields.items():
            if step == (field.alias or name):
                yield from _plain(field.annotation)
    elif get_origin(outer) is dict:
        yield from _plain(get_args(outer)[1])
    elif get_origin(outer) is tuple and isinstance(step, int):
        yield from _plain(get_args(outer)[0])


def _plain(annotation: Any) -> Iterator[Any]:
    """The types of a union, without what Annotated adds to them."""
    if get_origin(annotation) is Annotated:
        yield from _plain(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _plain(each)
    else:
        yield annotation


def _names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name


def _is_model(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel)
