"""What Java's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import called
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    METHOD,
    TYPE,
    TYPE_THEN_NAME,
    calls,
    defines,
    of_interfaces,
    package,
    scope,
)

_HERITAGE = re.compile(r"\b(?:extends|implements|permits)\b")
_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+?)(?:\.(\*))?\s*;")
_TYPE_PARAMETERS = re.compile(r"<[^<>{}]*(?:<[^<>{}]*(?:<[^<>]*>[^<>{}]*)*>[^<>{}]*)*>")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None or body is None:
        return
    start = body.range().start.index
    symbol = reader.define(node, at, TYPE, name.text(), body=start)
    head = _TYPE_PARAMETERS.sub("", reader.text[name.range().end.index : start])
    for clause in _HERITAGE.split(head)[1:]:
        reader.inherit(clause, at.line + 1, symbol.qualified)


def _field(reader: Reader, node: SgNode, at: Span) -> None:
    for declarator in node.field_children("declarator"):
        name = declarator.field("name")
        if name is not None and not reader.in_function:
            symbol = reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False)
            of = node.field("type")
            if of and of.text()[:1].isupper():
                reader.bind(name.text(), of.text().split("<")[0], symbol.qualified.rpartition(".")[0])


def _local(reader: Reader, node: SgNode, at: Span) -> None:
    of = node.field("type")
    written = of.text().split("<")[0] if of else ""
    if written[:1].isupper():
        for declarator in node.field_children("declarator"):
            name = declarator.field("name")
            if name is not None:
                reader.bind(name.text(), written, reader.within)


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    found = _IMPORT.match(node.text())
    if found is None:
        return
    if found[3]:
        reader.imported(found[2], at, [("*", "*")])
    else:
        module, _, name = found[2].rpartition(".")
        reader.imported(module, at, [(name, name)])


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    name, of = node.field("name"), node.field("object")
    if name is not None:
        before = called(of.text() + ".x")[0] if of else ""
        reader.reference(name.text(), before, ReferenceKind.CALL, at.line + 1)


def _element(reader: Reader, node: SgNode, at: Span) -> None:
    """Of an annotation: nothing else defines it."""
    defines(METHOD)(reader, node, at)
    reader.has_bodies = True


RULES = Rules(
    grammar="java",
    declares=of_interfaces,
    handlers={
        "package_declaration": package,
        "import_declaration": _import,
        "class_declaration": _type,
        "interface_declaration": _type,
        "enum_declaration": _type,
        "record_declaration": _type,
        "annotation_type_declaration": _type,
        "method_declaration": defines(METHOD),
        "constructor_declaration": defines(METHOD),
        "compact_constructor_declaration": defines(METHOD),
        "annotation_type_element_declaration": _element,
        "field_declaration": _field,
        "constant_declaration": _field,
        "local_variable_declaration": _local,
        "lambda_expression": scope,
        "method_invocation": _call,
        "object_creation_expression": calls("type", new=True),
    },
    exported=lambda name, signature: not re.match(r"(?:@\w+(?:\([^)]*\))?\s+|\w+\s+)*?private\s", signature),
    parameter=TYPE_THEN_NAME,
)
