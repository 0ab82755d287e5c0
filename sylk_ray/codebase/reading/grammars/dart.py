"""What Dart's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, TYPE, TYPE_THEN_NAME, calls, scope

_NAME = re.compile(
    r"\b(?:get|set)\s+(\w+)|\boperator\s*([^\s(]+|\(\))|(?:\b\w+\.)?\b(\w+)\s*(?:<[^()]*>)?\s*\((?!\)\s*Function)"
)
_URI = re.compile(r"['\"]([^'\"]+)['\"]")
_SHOWN = re.compile(r"\bshow\s+([\w\s,$]+)")
_ALIAS = re.compile(r"\bas\s+(\w+)")
_HERITAGE = re.compile(r"\b(?:extends|implements|with|on)\b")
_ANNOTATIONS = re.compile(r"(?:@[\w.]+(?:\([^)]*\))?\s*)+")
_TYPE_NAME = re.compile(r"\b(?:typedef|type|extension|enum|class|mixin)\s+(?:type\s+)?(\w+)")


def _library(reader: Reader, node: SgNode, at: Span) -> None:
    reader.package = reader.package or node.text().removeprefix("library").strip("; \n")
    reader.covered.append((at.line + 1, at.end_line + 1))


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    text = node.text()
    uri = _URI.search(text)
    if uri is None:
        return
    shown, alias = _SHOWN.search(text), _ALIAS.search(text)
    names = [(each.strip(), each.strip()) for each in shown[1].split(",")] if shown else []
    reader.imported(uri[1], at, names or ([] if alias else [("*", "*")]), alias=alias[1] if alias else "")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    body, name = node.field("body"), node.field("name")
    end = body.range().start.index if body else at.end
    head = _ANNOTATIONS.sub("", reader.text[at.start : end])
    called = name.text() if name else (found[1] if (found := _TYPE_NAME.search(head)) else "")
    if not called:
        return
    symbol = reader.define(node, at, TYPE, called, body=end, enter=body is not None)
    if node.kind() != "type_alias":
        for clause in _HERITAGE.split(head)[1:]:
            reader.inherit(clause, at.line + 1, symbol.qualified)


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    body, head = node.field("body"), node.field("signature")
    end = body.range().start.index if body else at.end
    first = head.range().start.index if head else at.start
    named = _NAME.search(reader.text, first, end if body else at.end)
    if named is None:
        reader.scope(at)
        return
    kind = METHOD if reader.type_frame else FUNCTION
    reader.define(node, at, kind, named[1] or named[2] or named[3], body=end)


def _declaration(reader: Reader, node: SgNode, at: Span) -> None:
    """Of a class: a field, or what has no body."""
    kinds = {child.kind() for child in node.children()}
    if any(kind.endswith("_signature") for kind in kinds):
        text = node.text().partition(" : ")[0]
        named = _NAME.search(_ANNOTATIONS.sub("", text))
        if named is not None:
            name = named[1] or named[2] or named[3]
            reader.define(node, at, METHOD, name, body=at.start + len(text), enter=False)
    else:
        _variables(reader, node, at)


def _variables(reader: Reader, node: SgNode, at: Span) -> None:
    if reader.in_function:
        return
    for child in node.children():
        for each in child.children() if child.kind().endswith("_list") else [child]:
            name = each.field("name")
            if each.kind() == "identifier":
                name = each
            elif name is None and each.kind() == "initialized_identifier":
                name = each.child(0)
            if name is not None and name.kind() == "identifier":
                reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False)


RULES = Rules(
    grammar="dart",
    handlers={
        "library_name": _library,
        "import_or_export": _import,
        "class_declaration": _type,
        "mixin_declaration": _type,
        "extension_declaration": _type,
        "extension_type_declaration": _type,
        "enum_declaration": _type,
        "type_alias": _type,
        "function_declaration": _function,
        "local_function_declaration": _function,
        "method_declaration": _function,
        "declaration": _declaration,
        "top_level_variable_declaration": _variables,
        "function_expression": scope,
        "call_expression": calls("function"),
    },
    exported=lambda name, signature: not name.startswith("_"),
    parameter=TYPE_THEN_NAME,
)
