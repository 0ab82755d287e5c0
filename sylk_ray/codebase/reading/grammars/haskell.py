"""What Haskell's nodes mean. A function is its signature and all equations that follow it."""

from __future__ import annotations

import re

import msgspec
from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.reader import Frame, Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, TYPE, child_text
from sylk_ray.codebase.reading.source import CommentStyle

_IMPORTED_NAME = re.compile(r"(?:type\s+|pattern\s+)?([\w']+|\([^()]+\))\s*(?:\([^()]*\))?")
_FIRST_TYPE = re.compile(r"[A-Z][\w']*")
_NAMED = frozenset({"variable", "qualified", "constructor", "name"})


def _header(reader: Reader, node: SgNode, at: Span) -> None:
    module = node.field("module")
    if module is not None:
        reader.package = module.text()
    reader.covered.append((at.line + 1, at.end_line + 1))


def _export(reader: Reader, node: SgNode, at: Span) -> None:
    reader.public.add(node.text().split("(")[0].removeprefix("type ").removeprefix("pattern ").strip() or node.text())


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    module, names, alias = node.field("module"), node.field("names"), node.field("alias")
    if module is None:
        return
    text = node.text()
    qualified = re.search(r"\bqualified\b", text) is not None
    imported: list[tuple[str, str]] = []
    if names is not None and not re.search(r"\bhiding\b", text):
        imported = [(each[1], each[1]) for each in _IMPORTED_NAME.finditer(names.text().strip()[1:-1])]
    elif not qualified:
        imported = [("*", "*")]
    reader.imported(module.text(), at, imported, alias=alias.text() if alias else "")


def _exported(reader: Reader, name: str) -> bool:
    within = reader.enclosing_type()
    return not reader.public or name in reader.public or bool(within)


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    body = at.end
    if node.kind() in ("class", "data_type"):
        found = re.compile(r"\bwhere\b|(?<=\s)=\s").search(reader.text, at.start, at.end)
        body = found.start() if found else at.end
    # Only a class holds definitions.
    enter = node.kind() == "class"
    reader.define(node, at, TYPE, name.text(), body=body, exported=_exported(reader, name.text()), enter=enter)


def _instance(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    of = _FIRST_TYPE.search(child_text(node, "type_patterns"))
    if name is None or of is None:
        return
    before, _, plain = name.text().rpartition(".")
    reader.reference(plain, before, ReferenceKind.INHERIT, at.line + 1, of[0])
    reader.enter(at, of[0], TYPE)


def _signature(reader: Reader, node: SgNode, at: Span) -> None:
    if reader.in_function:
        return
    names, _, of = node.text().partition("::")
    kind = FUNCTION if "->" in of or "→" in of or " " in of.strip() else CONSTANT
    for name in names.split(","):
        plain = name.strip().strip("()")
        reader.define(node, at, kind, plain, body=at.end, enter=False, exported=_exported(reader, plain))


def _equation(reader: Reader, node: SgNode, at: Span) -> None:
    named = node.field("name")
    plain = named.text() if named else child_text(_infix(node) or node, "operator")
    plain = plain.strip("()")
    if not plain or (reader.in_function and node.kind() == "bind"):
        return
    qualified = reader.qualified(plain)
    for number in range(len(reader.symbols) - 1, max(len(reader.symbols) - 12, -1), -1):
        known = reader.symbols[number]
        if known.qualified == qualified and known.kind in (FUNCTION, METHOD, CONSTANT):
            kind = known.kind if known.kind is not CONSTANT or node.kind() == "bind" else FUNCTION
            reader.symbols[number] = msgspec.structs.replace(known, end_line=at.end_line + 1, kind=kind)
            reader.stack.append(Frame(at.end, qualified, kind))
            return
    match = node.field("match")
    kind = FUNCTION if node.kind() == "function" else CONSTANT
    end = match.range().start.index if match else at.end
    reader.define(node, at, kind, plain, body=end, exported=not reader.in_function and _exported(reader, plain))


def _infix(node: SgNode) -> SgNode | None:
    return next((child for child in node.children() if child.kind() == "infix"), None)


def _apply(reader: Reader, node: SgNode, at: Span) -> None:
    callee = node.field("function")
    if callee is not None and callee.kind() in _NAMED:
        before, _, name = callee.text().rpartition(".")
        reader.reference(name, before, ReferenceKind.CALL, at.line + 1)


RULES = Rules(
    grammar="haskell",
    handlers={
        "header": _header,
        "export": _export,
        "import": _import,
        "data_type": _type,
        "newtype": _type,
        "type_synonym": _type,
        "type_family": _type,
        "class": _type,
        "instance": _instance,
        "signature": _signature,
        "function": _equation,
        "bind": _equation,
        "apply": _apply,
    },
    comments=CommentStyle(line=("--",), block=("{-", "-}"), attribute=("{-#",)),
)
