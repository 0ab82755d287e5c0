"""What Go's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import ELSE, called
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, TYPE, defines, of_interfaces, package, scope

_RECEIVER = re.compile(r"\(\s*(?:(\w+)\s+)?\*?\s*(\w+)")
_FIELD = re.compile(r"^[ \t]*(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]+\*?((?:\w+\.)?[A-Za-z]\w*)[ \t]*(?:$|`|//)", re.MULTILINE)
_EMBEDDED = re.compile(r"^[ \t]*\*?((?:\w+\.)?[A-Z]\w*)(?:\[[^\]]*\])?[ \t]*(?:$|`|//)", re.MULTILINE)
_MADE = re.compile(r"(\w+)(?:\s*,\s*\w+)?\s*:?=\s*&?$")
_KEYWORD_BEFORE = r"\b(?!(?:const|var|type|func|chan|map)\b)"


def _method(reader: Reader, node: SgNode, at: Span) -> None:
    name, of = node.field("name"), node.field("receiver")
    found = _RECEIVER.match(of.text()) if of else None
    if name is None or found is None:
        return
    symbol = reader.define(node, at, METHOD, name.text(), qualified=f"{found[2]}.{name.text()}")
    if found[1]:
        reader.bind(found[1], found[2], symbol.qualified)


def _one_of_many(reader: Reader, at: Span) -> None:
    """``type T …`` begins with its word, unless it stands in a group."""
    start = at.start - at.column
    word = reader.text[start : at.start]
    if word.strip() in ("type", "const", "var"):
        at.column = 0
        at.start = start


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("type")
    if name is None or reader.in_function:
        return
    end = 0
    kind = body.kind() if body else ""
    if body and kind in ("struct_type", "interface_type"):
        end = body.range().start.index + len(kind.removesuffix("_type"))
    _one_of_many(reader, at)
    symbol = reader.define(node, at, TYPE, name.text(), body=end or at.end)
    if body and end:
        inner = body.text()
        for embedded in _EMBEDDED.finditer(inner):
            before, last = called(embedded[1])
            reader.reference(last, before, ReferenceKind.INHERIT, at.line + 1, symbol.qualified)
        for field in _FIELD.finditer(inner):
            for each in field[1].split(","):
                reader.bind(each.strip(), field[2], symbol.qualified)


def _alias(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None and not reader.in_function:
        _one_of_many(reader, at)
        reader.define(node, at, TYPE, name.text(), body=at.end)


def _constant(reader: Reader, node: SgNode, at: Span) -> None:
    if reader.in_function:
        return
    names = [each.text() for each in node.field_children("name") if each.is_named()]
    _one_of_many(reader, at)
    for name in names:
        if name != "_":
            reader.define(node, at, CONSTANT, name, body=at.end, enter=False)


def _element(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None and reader.type_frame:
        reader.define(node, at, METHOD, name.text(), body=at.end)


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    path, name = node.field("path"), node.field("name")
    if path is None:
        return
    alias = name.text() if name else ""
    reader.imported(
        path.text().strip('"`'), at, [("*", "*")] if alias == "." else [], alias="" if alias == "." else alias
    )


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    """What ``NewServer()`` returns is taken for a ``Server``."""
    callee = node.field("function")
    if callee is None:
        return
    before, name = called(callee.text())
    if name:
        reader.reference(name, before, ReferenceKind.CALL, at.line + 1)
    if name.startswith("New") and len(name) > 3 and before != ELSE:
        target = _MADE.search(reader.text, max(at.start - 60, 0), at.start)
        if target:
            reader.bind(target[1], f"{before}.{name[3:]}" if before else name[3:], reader.within)


def _literal(reader: Reader, node: SgNode, at: Span) -> None:
    made = node.field("type")
    if made is not None and made.kind() in ("type_identifier", "qualified_type"):
        before, name = called(made.text())
        target = _MADE.search(reader.text, max(at.start - 60, 0), at.start)
        if target:
            reader.bind(target[1], f"{before}.{name}" if before else name, reader.within)


RULES = Rules(
    grammar="go",
    declares=of_interfaces,
    handlers={
        "package_clause": package,
        "import_spec": _import,
        "function_declaration": defines(FUNCTION),
        "method_declaration": _method,
        "func_literal": scope,
        "type_spec": _type,
        "type_alias": _alias,
        "method_elem": _element,
        "const_spec": _constant,
        "var_spec": _constant,
        "composite_literal": _literal,
        "call_expression": _call,
    },
    exported=lambda name, signature: name[:1].isupper(),
    parameter=re.compile(
        _KEYWORD_BEFORE + r"(?P<name>[a-z]\w*)\s+(?:\*|\[\]|\.\.\.)*(?P<type>(?:\w+\.)?[A-Z]\w*)(?=[\[,) ])"
    ),
)
