"""What joins two places of a codebase, and how sure that is."""

from __future__ import annotations

import msgspec

from sylk_ray.knowledge.model import EdgeType


class Link(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From a file or a symbol of it to another."""

    source_path: str
    source_symbol: str = ""
    """A qualified name; empty for the file itself."""
    target_path: str
    target_symbol: str = ""
    type: EdgeType
    """CALLS, IMPLEMENTS (a base type), IMPORTS, REFERENCES (a type in a signature), DEFINES (a file and what stands at
    its top level), CONTAINS (a type or module and its members)."""
    confidence: float
    """In (0, 1]: 1 where nothing is guessed."""
    lines: tuple[int, ...]
    """In the source's file, in the order in which they were read."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """A file, or with a qualified name a symbol of it."""

    path: str
    symbol: str = ""


SAME_SCOPE = 0.97
SAME_FILE = 0.95
IMPORTED = 0.9
SAME_PACKAGE = 0.9
THROUGH_A_TYPE = 0.85
THROUGH_A_MODULE = 0.85
ONLY_ONE = 0.6
LEAST = 0.2
MOST_CANDIDATES = 3
"""How many definitions of one name may share ``ONLY_ONE`` before none is taken."""
