"""What Scala's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.names import top_level_pieces
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    NAME_THEN_TYPE,
    TYPE,
    calls,
    defines,
    of_interfaces,
    package,
    scope,
)

_SELECTOR = re.compile(r"([\w*]+)(?:\s*(?:=>|as)\s*(\w+))?$")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    symbol = reader.define(node, at, TYPE, name.text())
    extends = node.field("extend")
    if extends:
        written = re.sub(r"^\s*extends\b|\bderives\b.*$", "", extends.text())
        reader.inherit(re.sub(r"\s+with\s+", ", ", written), at.line + 1, symbol.qualified)
    for parameters in node.field_children("class_parameters"):
        for annotated in NAME_THEN_TYPE.finditer(parameters.text()):
            reader.bind(annotated["name"], annotated["type"], symbol.qualified)


def _value(reader: Reader, node: SgNode, at: Span) -> None:
    pattern = node.field("pattern") or node.field("name")
    if pattern is None:
        return
    of = node.field("type")
    if of and of.text()[:1].isupper():
        reader.bind(pattern.text(), of.text().split("[")[0], reader.within)
    if not reader.in_function and pattern.kind() == "identifier":
        reader.define(node, at, CONSTANT, pattern.text(), body=at.end, enter=False)


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    for written in top_level_pieces(node.text().removeprefix("import").removeprefix("export").strip(), ","):
        path, brace, selectors = written.strip().partition("{")
        if not brace:
            module, _, name = path.rpartition(".")
            selectors, path = name, module
        names: list[tuple[str, str]] = []
        for each in selectors.rstrip("} \n").split(","):
            chosen = _SELECTOR.match(each.strip())
            if chosen and chosen[1] in ("_", "*", "given"):
                names.append(("*", "*"))
            elif chosen and chosen[2] != "_":
                names.append((chosen[1], chosen[2] or chosen[1]))
        if names:
            reader.imported(path.strip(" ."), at, names)


def _new(reader: Reader, node: SgNode, at: Span) -> None:
    made = re.match(r"new\s+([\w.]+)", node.text())
    if made:
        reader.call(made[1], at, new=True)


RULES = Rules(
    grammar="scala",
    declares=of_interfaces,
    handlers={
        "package_clause": package,
        "import_declaration": _import,
        "class_definition": _type,
        "object_definition": _type,
        "trait_definition": _type,
        "enum_definition": _type,
        "type_definition": defines(TYPE, local=False),
        "function_definition": defines(FUNCTION),
        "function_declaration": defines(FUNCTION),
        "val_definition": _value,
        "var_definition": _value,
        "val_declaration": _value,
        "var_declaration": _value,
        "lambda_expression": scope,
        "call_expression": calls("function"),
        "instance_expression": _new,
    },
    exported=lambda name, signature: not re.match(r"(?:@\w+(?:\([^)]*\))?\s+|\w+\s+)*?private\b", signature),
    parameter=NAME_THEN_TYPE,
)
