"""What Solidity's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, TYPE, TYPE_THEN_NAME, calls, defines

_SOURCE = re.compile(r"['\"]([^'\"]+)['\"]")
_NAMES = re.compile(r"\{([^}]*)\}")
_ALIAS = re.compile(r"\bas\s+(\w+)\s*(?:from\b|;)")
_HIDDEN = re.compile(r"\b(?:private|internal)\b")


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    text = node.text()
    source, names = _SOURCE.search(text), _NAMES.search(text)
    if source is None:
        return
    imported: list[tuple[str, str]] = []
    for each in names[1].split(",") if names else []:
        there, _, here = each.partition(" as ")
        imported.append((there.strip(), (here or there).strip()))
    alias = None if names else _ALIAS.search(text)
    after = re.search(r"['\"]\s+as\s+(\w+)", text)
    told = alias[1] if alias else after[1] if after else ""
    reader.imported(source[1], at, imported or ([] if told else [("*", "*")]), alias=told)


def _contract(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None:
        return
    symbol = reader.define(node, at, TYPE, name.text())
    head = reader.text[name.range().end.index : body.range().start.index if body else at.end]
    reader.inherit(re.sub(r"^\s*is\b", "", head), at.line + 1, symbol.qualified)


def _constructor(reader: Reader, node: SgNode, at: Span) -> None:
    reader.define(node, at, METHOD, re.split(r"\W", node.text(), maxsplit=1)[0])


def _field(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None and not reader.in_function:
        reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False)


RULES = Rules(
    grammar="solidity",
    handlers={
        "import_directive": _import,
        "contract_declaration": _contract,
        "interface_declaration": _contract,
        "library_declaration": _contract,
        "struct_declaration": defines(TYPE),
        "enum_declaration": defines(TYPE),
        "event_definition": defines(TYPE),
        "error_declaration": defines(TYPE),
        "user_defined_type_definition": defines(TYPE),
        "modifier_definition": defines(FUNCTION),
        "function_definition": defines(FUNCTION),
        "constructor_definition": _constructor,
        "fallback_receive_definition": _constructor,
        "state_variable_declaration": _field,
        "constant_variable_declaration": _field,
        "call_expression": calls("function"),
        "emit_statement": calls("name"),
    },
    exported=lambda name, signature: not _HIDDEN.search(signature),
    parameter=TYPE_THEN_NAME,
    capitals_are_types=False,
)
