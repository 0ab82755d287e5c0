"""What the nodes of C and C++ mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from ast_grep_py import SgNode

from sylk_ray.codebase.outline import Symbol
from sylk_ray.codebase.reading.grammars.macros import without_macros
from sylk_ray.codebase.reading.reader import Handler, Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    METHOD,
    MODULE,
    TYPE,
    TYPE_THEN_NAME,
    calls,
    constant,
    defines,
    scope,
    wrapper,
)

_DECLARATORS = frozenset({"pointer_declarator", "reference_declarator", "parenthesized_declarator", "init_declarator"})
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++", ".cuh")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_BY_TYPE = re.compile(r"((?:\w+::)*[A-Z]\w*)(?:<[^<>;]*>)?\s*[*&]*\s+[*&]*(\w+)\s*[;={(]")


def _declarator(node: SgNode | None) -> SgNode | None:
    """The function's declarator, or the name, within pointers and references."""
    for _ in range(12):
        if node is None or node.kind() not in _DECLARATORS:
            return node
        node = node.field("declarator") or node.child(1)
    return node


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    declared = _declarator(node.field("declarator"))
    name = _name(declared)
    if not name:
        reader.scope(at)
        return
    _define_function(reader, node, at, name, node.field("body"))


def _define_function(reader: Reader, node: SgNode, at: Span, name: str, body: SgNode | None) -> None:
    path = [each.strip() for each in _ARGUMENTS.sub("", name).split("::") if each.strip()]
    out_of_class = len(path) > 1
    qualified = reader.qualified(".".join(path))
    kind = METHOD if out_of_class else FUNCTION
    end = body.range().start.index if body else at.end
    reader.define(node, at, kind, path[-1], qualified=qualified, body=end, enter=body is not None)


def _name(declared: SgNode | None) -> str:
    if declared is None:
        return ""
    if declared.kind() == "function_declarator":
        inner = _declarator(declared.field("declarator"))
        return inner.text() if inner and "(" not in inner.text().replace("operator()", "") else ""
    return declared.text() if "operator" in declared.text() else ""


def _declaration(reader: Reader, node: SgNode, at: Span) -> None:
    """At the top or in a type: a prototype, a variable or a field. A local one may say a type."""
    if reader.in_function:
        found = _BY_TYPE.match(node.text())
        if found:
            reader.bind(found[2], found[1], reader.within)
        return
    for each in node.field_children("declarator"):
        declared = _declarator(each)
        if declared is None:
            continue
        kind = declared.kind()
        if kind == "function_declarator":
            name = _name(declared)
            if name:
                _define_function(reader, node, at, name, None)
        elif kind in ("identifier", "field_identifier", "qualified_identifier", "array_declarator"):
            name = declared.text().split("[")[0].split("::")[-1].strip()
            if not reader.type_frame or "static" in node.text() or "constexpr" in node.text():
                reader.define(node, at, CONSTANT, name, body=at.end, enter=False)
            found = _BY_TYPE.search(node.text())
            if found:
                reader.bind(name, found[1], reader.within)


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    """Only where it is defined: ``struct node *next`` merely uses it."""
    name, body = node.field("name"), node.field("body")
    if name is None or body is None:
        if body is not None:
            reader.nameless(at)
        return
    plain = _ARGUMENTS.sub("", name.text()).replace("::", ".")
    symbol = reader.define(node, at, TYPE, plain.split(".")[-1], qualified=reader.qualified(plain))
    bases = re.search(r"(?<!:):(?!:)(.*)$", reader.text[name.range().end.index : body.range().start.index], re.DOTALL)
    if bases and node.kind() != "enum_specifier":
        reader.inherit(bases[1], at.line + 1, symbol.qualified)


def _typedef(reader: Reader, node: SgNode, at: Span) -> None:
    if reader.in_function:
        return
    for each in node.field_children("declarator"):
        name = re.search(r"\(\s*\*?\s*(\w+)\s*\)|(\w+)\s*(?:\[[^\]]*\])*$", each.text())
        if name:
            inner = node.field("type")
            body = inner.field("body") if inner else None
            end = body.range().start.index if body else at.end
            reader.define(node, at, TYPE, name[1] or name[2], body=end, enter=False)


def _define(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    value = node.field("value")
    is_guard = value is None and node.field("parameters") is None
    if name is not None and not is_guard and not reader.in_function:
        kind = FUNCTION if node.field("parameters") else CONSTANT
        reader.define(node, at, kind, name.text(), body=at.end, enter=False)
        reader.has_bodies |= kind is FUNCTION


def _include(reader: Reader, node: SgNode, at: Span) -> None:
    path = node.field("path")
    if path is not None:
        at.end_line = at.line
        written = path.text()
        reader.imported(written.strip('<>"'), at, alias="", relative=int(written.startswith('"')))


def _namespace(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        reader.enter(at, reader.within, MODULE)
    else:
        plain = name.text().replace("::", ".")
        reader.define(node, at, MODULE, plain.split(".")[-1], qualified=reader.qualified(plain))


def _using(reader: Reader, node: SgNode, at: Span) -> None:
    words = node.text().rstrip(";").split()
    whole = words[-1]
    if reader.in_function:
        return
    if "namespace" in words:
        reader.imported(whole, at, [("*", "*")])
    elif not reader.type_frame:
        module, _, name = whole.rpartition("::")
        reader.imported(module, at, [(name, name)])


def _new(reader: Reader, node: SgNode, at: Span) -> None:
    made = node.field("type")
    if made is not None:
        reader.call(made.text(), at, new=True)


_C: dict[str, Handler] = {
    "function_definition": _function,
    "declaration": _declaration,
    "field_declaration": _declaration,
    "struct_specifier": _type,
    "union_specifier": _type,
    "enum_specifier": _type,
    "type_definition": _typedef,
    "preproc_def": _define,
    "preproc_function_def": _define,
    "preproc_include": _include,
    "call_expression": calls("function"),
}
_CPP: dict[str, Handler] = {
    "class_specifier": _type,
    "template_declaration": wrapper,
    "alias_declaration": defines(TYPE, local=False),
    "concept_definition": constant(),
    "namespace_definition": _namespace,
    "using_declaration": _using,
    "lambda_expression": scope,
    "new_expression": _new,
}


def _exported(name: str, signature: str) -> bool:
    return not signature.startswith("static ")


def _is_header(path: str, symbols: Sequence[Symbol]) -> bool:
    return path.endswith(_HEADERS)


C = Rules(
    grammar="c",
    handlers=_C,
    exported=_exported,
    parameter=TYPE_THEN_NAME,
    prepared=without_macros,
    conditions=True,
    declares=_is_header,
)
CPP = msgspec.structs.replace(C, grammar="cpp", handlers=_C | _CPP)
