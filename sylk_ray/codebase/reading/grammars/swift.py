"""What Swift's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    METHOD,
    NAME_THEN_TYPE,
    TYPE,
    calls_first_child,
    defines,
    of_interfaces,
    scope,
)

_EXTENSION = re.compile(r"(?:@\w+(?:\([^)]*\))?\s+|\w+\s+)*?extension\b")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None:
        return
    plain = name.text().split("<")[0]
    end = body.range().start.index if body else at.end
    if _EXTENSION.match(reader.text, at.start, end):
        qualified = reader.qualified(plain)
        reader.enter(at, qualified, TYPE)
    else:
        qualified = reader.define(node, at, TYPE, plain, body=end).qualified
    bases = ", ".join(each.text() for each in node.children() if each.kind() == "inheritance_specifier")
    reader.inherit(bases, at.line + 1, qualified)


def _property(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    annotated = NAME_THEN_TYPE.search(node.text().split("=")[0])
    if annotated:
        reader.bind(annotated["name"], annotated["type"], reader.within)
    if not reader.in_function and name.text().isidentifier():
        computed = node.field("computed_value")
        end = computed.range().start.index if computed else at.end
        reader.define(node, at, CONSTANT, name.text(), body=end, enter=computed is not None)


def _init(reader: Reader, node: SgNode, at: Span) -> None:
    reader.define(node, at, METHOD, "init" if node.kind() == "init_declaration" else "deinit")


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    reader.imported(node.text().split()[-1], at)


RULES = Rules(
    grammar="swift",
    declares=of_interfaces,
    handlers={
        "import_declaration": _import,
        "class_declaration": _type,
        "protocol_declaration": _type,
        "function_declaration": defines(FUNCTION),
        "protocol_function_declaration": defines(FUNCTION),
        "init_declaration": _init,
        "deinit_declaration": _init,
        "property_declaration": _property,
        "typealias_declaration": defines(TYPE),
        "lambda_literal": scope,
        "call_expression": calls_first_child,
    },
    exported=lambda name, signature: not re.match(r"(?:@\w+\s+|\w+\s+)*?(?:file)?private\b", signature),
    parameter=NAME_THEN_TYPE,
)
