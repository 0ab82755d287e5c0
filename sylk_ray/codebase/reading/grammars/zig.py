"""What Zig's nodes mean. Types are values of constants."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, TYPE, calls, first_of_kind
from sylk_ray.codebase.reading.source import CommentStyle

_CONTAINERS = (
    "struct_declaration",
    "enum_declaration",
    "union_declaration",
    "opaque_declaration",
    "error_set_declaration",
)
_DECLARED = re.compile(r"(?:(?:pub|export|extern|threadlocal|comptime)\s+|\"[^\"]*\"\s+)*(?:const|var)\b")
_IMPORTED = re.compile(r"@import\(\s*\"([^\"]+)\"\s*\)(?:\.([\w.]+))?")
_PUBLIC = re.compile(r"(?:pub|export)\b")
_PARAMETER = re.compile(r"\b(?P<name>[a-z_]\w*)\s*:\s*(?:[*?&]|\[\]|const\s)*(?P<type>(?:\w+\.)*[A-Z]\w*)")


def _variable(reader: Reader, node: SgNode, at: Span) -> None:
    name = first_of_kind(node, "identifier")
    if name is None or not _DECLARED.match(reader.text, at.start, at.end):
        return
    value = reader.text[name.range().end.index : at.end].partition("=")[2].strip()
    imported = _IMPORTED.match(value)
    if imported and not reader.in_function:
        names = [(imported[2].split(".")[-1], name.text())] if imported[2] else []
        reader.imported(imported[1], at, names, alias="" if names else name.text())
        return
    container = first_of_kind(node, *_CONTAINERS)
    if container is not None:
        brace = reader.text.find("{", container.range().start.index, at.end)
        reader.define(node, at, TYPE, name.text(), body=max(brace, at.start + 1))
    elif not reader.in_function:
        reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False)


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None:
        reader.define(node, at, FUNCTION, name.text())


def _test(reader: Reader, node: SgNode, at: Span) -> None:
    told = first_of_kind(node, "string", "identifier")
    if told is None:
        reader.scope(at)
    else:
        end = told.range().end.index
        reader.define(node, at, FUNCTION, told.text().strip('"'), body=end, exported=False, uses=False)


RULES = Rules(
    grammar="zig",
    handlers={
        "variable_declaration": _variable,
        "function_declaration": _function,
        "test_declaration": _test,
        "call_expression": calls("function"),
    },
    comments=CommentStyle(line=("//",), block=None),
    exported=lambda name, signature: _PUBLIC.match(signature) is not None,
    parameter=_PARAMETER,
    capitals_are_types=False,
)
