"""What C#'s nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    METHOD,
    MODULE,
    TYPE,
    TYPE_THEN_NAME,
    calls,
    defines,
    first_of_kind,
    of_interfaces,
    scope,
)

_USING = re.compile(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.:]+)")


def _namespace(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None:
        reader.package = reader.package or name.text()
        reader.covered.append((at.line + 1, at.line + 1))
    if node.kind() == "namespace_declaration":
        reader.enter(at, "", MODULE)


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None:
        return
    end = body.range().start.index if body else at.end
    symbol = reader.define(node, at, TYPE, name.text(), body=end)
    bases = first_of_kind(node, "base_list")
    if bases and node.kind() != "enum_declaration":
        reader.inherit(bases.text().lstrip(": "), at.line + 1, symbol.qualified)
    parameters = first_of_kind(node, "parameter_list")
    if parameters:
        for annotated in TYPE_THEN_NAME.finditer(parameters.text()):
            reader.bind(annotated["name"], annotated["type"], symbol.qualified)


def _field(reader: Reader, node: SgNode, at: Span) -> None:
    declared = first_of_kind(node, "variable_declaration")
    if declared is None or reader.in_function:
        return
    of = declared.field("type")
    for each in declared.children():
        name = each.field("name") if each.kind() == "variable_declarator" else None
        if name is not None:
            reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False)
            if of and of.text()[:1].isupper():
                reader.bind(name.text(), of.text().split("<")[0].rstrip("?"), reader.within)


def _property(reader: Reader, node: SgNode, at: Span) -> None:
    name, of = node.field("name"), node.field("type")
    if name is None:
        return
    if of and of.text()[:1].isupper():
        reader.bind(name.text(), of.text().split("<")[0].rstrip("?"), reader.within)
    accessors = first_of_kind(node, "accessor_list", "arrow_expression_clause")
    reader.define(node, at, CONSTANT, name.text(), body=accessors.range().start.index if accessors else at.end)


def _local(reader: Reader, node: SgNode, at: Span) -> None:
    declared = first_of_kind(node, "variable_declaration")
    of = declared.field("type") if declared else None
    if declared and of and of.text()[:1].isupper():
        for each in declared.children():
            name = each.field("name") if each.kind() == "variable_declarator" else None
            if name is not None:
                reader.bind(name.text(), of.text().split("<")[0].rstrip("?"), reader.within)


def _using(reader: Reader, node: SgNode, at: Span) -> None:
    found = _USING.match(node.text())
    if found is not None:
        reader.imported(found[3], at, [] if found[2] else [("*", "*")], alias=found[2] or "")


RULES = Rules(
    grammar="csharp",
    conditions=True,
    declares=of_interfaces,
    handlers={
        "using_directive": _using,
        "namespace_declaration": _namespace,
        "file_scoped_namespace_declaration": _namespace,
        "class_declaration": _type,
        "struct_declaration": _type,
        "interface_declaration": _type,
        "record_declaration": _type,
        "enum_declaration": _type,
        "delegate_declaration": defines(TYPE),
        "method_declaration": defines(METHOD),
        "constructor_declaration": defines(METHOD),
        "local_function_statement": defines(FUNCTION),
        "property_declaration": _property,
        "field_declaration": _field,
        "event_field_declaration": _field,
        "local_declaration_statement": _local,
        "lambda_expression": scope,
        "anonymous_method_expression": scope,
        "invocation_expression": calls("function"),
        "object_creation_expression": calls("type", new=True),
    },
    capitals_are_types=False,
    exported=lambda name, signature: not re.match(r"(?:\[[^\]]*\]\s*|\w+\s+)*?private\s", signature),
    parameter=TYPE_THEN_NAME,
)
