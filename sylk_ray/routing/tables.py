"""What the rules know as data: the TOML files of this package."""

from __future__ import annotations

from importlib.resources import files
from typing import TypeVar

import msgspec

T = TypeVar("T")


def table(name: str, kind: type[T]) -> T:
    """The content of a file, read anew. Raises msgspec.ValidationError if it is broken."""
    return msgspec.toml.decode(files("sylk_ray.routing").joinpath(name).read_bytes(), type=kind)
