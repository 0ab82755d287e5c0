"""What Kotlin's nodes mean. Its grammar names no fields."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    NAME_THEN_TYPE,
    TYPE,
    calls_first_child,
    child_text,
    first_of_kind,
    of_interfaces,
    package,
    scope,
)

_IMPORT = re.compile(r"import\s+([\w.`]+?)(?:\.(\*))?(?:\s+as\s+(\w+))?\s*;?$")
_RECEIVER = re.compile(r"^[\w.]+")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name = child_text(node, "type_identifier")
    if not name:
        reader.scope(at)
        return
    body = first_of_kind(node, "class_body", "enum_class_body")
    end = body.range().start.index if body else at.end
    symbol = reader.define(node, at, TYPE, name, body=end)
    bases = ", ".join(each.text() for each in node.children() if each.kind() == "delegation_specifier")
    reader.inherit(bases, at.line + 1, symbol.qualified)
    constructor = first_of_kind(node, "primary_constructor")
    if constructor:
        for annotated in NAME_THEN_TYPE.finditer(constructor.text()):
            reader.bind(annotated["name"], annotated["type"], symbol.qualified)


def _companion(reader: Reader, node: SgNode, at: Span) -> None:
    reader.enter(at, reader.within, TYPE)


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    name = child_text(node, "simple_identifier")
    if not name:
        reader.scope(at)
        return
    body = first_of_kind(node, "function_body")
    receiver = first_of_kind(node, "receiver_type", "user_type") if not reader.type_frame else None
    before = reader.text[at.start : at.end].partition(f"{name}(")[0]
    qualified = ""
    if receiver and f"{receiver.text()}." in before:
        extended = _RECEIVER.match(receiver.text())
        qualified = f"{extended[0]}.{name}" if extended else ""
    reader.define(node, at, FUNCTION, name, qualified=qualified, body=body.range().start.index if body else at.end)


def _property(reader: Reader, node: SgNode, at: Span) -> None:
    declared = first_of_kind(node, "variable_declaration")
    name = child_text(declared, "simple_identifier") if declared else ""
    if not declared or not name:
        return
    of = re.search(r":\s*((?:\w+\.)*[A-Z]\w*)", declared.text())
    if of:
        reader.bind(name, of[1], reader.within)
    if not reader.in_function:
        reader.define(node, at, CONSTANT, name, body=at.end, enter=False)


def _alias(reader: Reader, node: SgNode, at: Span) -> None:
    reader.define(node, at, TYPE, child_text(node, "type_identifier"), body=at.end, enter=False)


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    found = _IMPORT.match(node.text().strip())
    if found is None:
        return
    at.end_line = at.line
    if found[2]:
        reader.imported(found[1], at, [("*", "*")])
    else:
        module, _, name = found[1].rpartition(".")
        reader.imported(module, at, [(name, found[3] or name)])


RULES = Rules(
    grammar="kotlin",
    declares=of_interfaces,
    handlers={
        "package_header": package,
        "import_header": _import,
        "class_declaration": _type,
        "object_declaration": _type,
        "companion_object": _companion,
        "function_declaration": _function,
        "property_declaration": _property,
        "type_alias": _alias,
        "lambda_literal": scope,
        "anonymous_function": scope,
        "call_expression": calls_first_child,
    },
    exported=lambda name, signature: not re.match(r"(?:@\w+(?:\([^)]*\))?\s+|\w+\s+)*?private\s", signature),
    parameter=NAME_THEN_TYPE,
)
