"""What Lua's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, scope
from sylk_ray.codebase.reading.source import CommentStyle

_REQUIRE = re.compile(r"\brequire\s*\(?\s*['\"]([^'\"]+)['\"]")
_LOCAL = re.compile(r"local\s+$")


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        reader.scope(at)
        return
    parameters = node.field("parameters")
    _define(reader, node, at, name.text(), parameters.range().end.index if parameters else at.end)


def _define(reader: Reader, node: SgNode, at: Span, written: str, end: int) -> None:
    path = written.replace(":", ".").split(".")
    if len(path) > 1 and reader.in_function:
        reader.scope(at)
        return
    kind = METHOD if ":" in written else FUNCTION
    exported = None if len(path) > 1 else not reader.text.startswith("local", at.start)
    qualified = ".".join(path) if len(path) > 1 else ""
    reader.define(node, at, kind, path[-1], qualified=qualified, body=end, exported=exported)


def _assignment(reader: Reader, node: SgNode, at: Span) -> None:
    if reader.in_function or reader.stack:
        return
    left, _, right = node.text().partition("=")
    local = _LOCAL.search(reader.text, max(at.start - 12, 0), at.start)
    if local:
        at.start = local.start()
    names = [each.strip() for each in left.split(",")]
    required = _REQUIRE.match(right.strip())
    if required and len(names) == 1:
        reader.imported(required[1], at, alias=names[0])
    elif right.lstrip().startswith("function"):
        end = reader.text.find(")", at.start) + 1
        _define(reader, node, at, names[0], end)
    else:
        for name in names:
            if name.isidentifier():
                reader.define(node, at, CONSTANT, name, body=at.end, enter=False, exported=not local)


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    if name.text() == "require":
        found = _REQUIRE.match(reader.text, at.start, at.end)
        if found and not any(each.line == at.line + 1 for each in reader.imports):
            reader.imported(found[1], at)
        return
    reader.call(name.text(), at)


def _function_value(reader: Reader, node: SgNode, at: Span) -> None:
    if not (reader.stack and reader.stack[-1].end == at.end and reader.stack[-1].kind in (FUNCTION, METHOD)):
        scope(reader, node, at)


RULES = Rules(
    grammar="lua",
    handlers={
        "function_declaration": _function,
        "function_definition": _function_value,
        "assignment_statement": _assignment,
        "function_call": _call,
    },
    comments=CommentStyle(line=("--",), block=("--[[", "]]")),
)
