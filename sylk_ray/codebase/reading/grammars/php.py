"""What PHP's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import called, receiver
from sylk_ray.codebase.reading.reader import Handler, Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    METHOD,
    TYPE,
    TYPE_THEN_NAME,
    defines,
    first_of_kind,
    of_interfaces,
    scope,
)
from sylk_ray.codebase.reading.source import CommentStyle

_PROMOTED = re.compile(r"\b(?:private|protected|public|readonly)\s+(?:readonly\s+)?\??(\\?[\w\\]*[A-Z]\w*)\s+\$(\w+)")
_PATH = re.compile(r"['\"]([^'\"$]+)['\"]")


def _namespace(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None:
        reader.package = reader.package or name.text()
        reader.covered.append((at.line + 1, at.line + 1))


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None or body is None:
        return
    symbol = reader.define(node, at, TYPE, name.text(), body=body.range().start.index)
    for clause in node.children():
        if clause.kind() in ("base_clause", "class_interface_clause"):
            written = re.sub(r"^\s*(?:extends|implements)\b", "", clause.text())
            reader.inherit(written, at.line + 1, symbol.qualified)
    for promoted in _PROMOTED.finditer(body.text()):
        reader.bind(f"this.{promoted[2]}", promoted[1].lstrip("\\"), symbol.qualified)


def _mixed_in(reader: Reader, node: SgNode, at: Span) -> None:
    reader.inherit(node.text().removeprefix("use").split("{")[0].rstrip("; "), at.line + 1, reader.within)


def _constants(kind: str) -> Handler:
    def handler(reader: Reader, node: SgNode, at: Span) -> None:
        for element in node.children():
            if element.kind() == kind and not reader.in_function:
                name = element.field("name") or first_of_kind(element, "name")
                if name is not None:
                    reader.define(node, at, CONSTANT, name.text().lstrip("$"), body=at.end, enter=False)

    return handler


def _use(reader: Reader, node: SgNode, at: Span) -> None:
    text = re.sub(r"^use\s+(?:function\s+|const\s+)?", "", node.text()).rstrip("; \n")
    prefix, brace, group = text.partition("{")
    base = prefix.strip(" \\") if brace else ""
    for each in (group.rstrip("} \n") if brace else text).split(","):
        written = re.sub(r"^\s*(?:function|const)\s+", "", each).strip()
        path, _, alias = (part.strip() for part in re.sub(r"\s+as\s+", "|", written).partition("|"))
        whole = "\\".join(part for part in (base, path.strip("\\")) if part)
        module, _, name = whole.rpartition("\\")
        if name:
            reader.imported(module, at, [(name, alias or name)])


def _include(reader: Reader, node: SgNode, at: Span) -> None:
    found = _PATH.search(node.text())
    if found:
        reader.imported(found[1].lstrip("/"), at, relative=1)


def _member_call(reader: Reader, node: SgNode, at: Span) -> None:
    name, of = node.field("name"), node.field("object") or node.field("scope")
    if name is not None and of is not None:
        before = receiver(of.text())
        reader.reference(name.text(), before, ReferenceKind.CALL, at.line + 1)


def _new(reader: Reader, node: SgNode, at: Span) -> None:
    made = first_of_kind(node, "name", "qualified_name")
    if made is not None:
        before, name = called(made.text())
        reader.call(f"{before}\\{name}" if before else name, at, new=True)


def _define_call(reader: Reader, node: SgNode, at: Span) -> None:
    callee = node.field("function")
    if callee is None:
        return
    if callee.text() == "define" and not reader.stack and (named := _PATH.search(node.text())):
        reader.define(node, at, CONSTANT, named[1], body=at.end, enter=False)
    reader.call(callee.text(), at)


def _property(reader: Reader, node: SgNode, at: Span) -> None:
    _constants("property_element")(reader, node, at)
    of = node.field("type")
    if of is not None and reader.type_frame:
        for name in re.findall(r"\$(\w+)", node.text())[:1]:
            reader.bind(f"this.{name}", of.text().lstrip("?\\"), reader.type_frame.qualified)


RULES = Rules(
    grammar="php",
    declares=of_interfaces,
    handlers={
        "namespace_definition": _namespace,
        "namespace_use_declaration": _use,
        "class_declaration": _type,
        "interface_declaration": _type,
        "trait_declaration": _type,
        "enum_declaration": _type,
        "use_declaration": _mixed_in,
        "method_declaration": defines(METHOD),
        "function_definition": defines(FUNCTION),
        "anonymous_function": scope,
        "arrow_function": scope,
        "const_declaration": _constants("const_element"),
        "property_declaration": _property,
        "require_once_expression": _include,
        "require_expression": _include,
        "include_expression": _include,
        "include_once_expression": _include,
        "function_call_expression": _define_call,
        "member_call_expression": _member_call,
        "nullsafe_member_call_expression": _member_call,
        "scoped_call_expression": _member_call,
        "object_creation_expression": _new,
    },
    comments=CommentStyle(line=("//", "#")),
    exported=lambda name, signature: not re.match(r"(?:\w+\s+)*?private\s", signature),
    parameter=TYPE_THEN_NAME,
)
