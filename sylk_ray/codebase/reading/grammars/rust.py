"""What Rust's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import called
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import FUNCTION, MODULE, NAME_THEN_TYPE, TYPE, calls, constant, defines, scope
from sylk_ray.codebase.reading.source import CommentStyle

_FIELD = re.compile(
    r"(?:^|[{,(])\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*:\s*(?:&(?:'\w+\s*)?|mut\s+|Box<|Arc<|Rc<|Option<|dyn\s+)*((?:\w+::)*[A-Z]\w*)",
    re.M,
)
_NAME = re.compile(r"(?:\w+::)*(\w+)")


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    symbol = reader.define(node, at, TYPE, name.text())
    body, bounds = node.field("body"), node.field("bounds")
    if bounds:
        reader.inherit(bounds.text().lstrip(": "), at.line + 1, symbol.qualified)
    if body and body.kind() == "field_declaration_list":
        for field in _FIELD.finditer(body.text()):
            reader.bind(f"self.{field[1]}", field[2], symbol.qualified)


def _impl(reader: Reader, node: SgNode, at: Span) -> None:
    of, trait = node.field("type"), node.field("trait")
    named = _NAME.match(of.text().lstrip("&*( ").removeprefix("dyn ").removeprefix("mut ")) if of else None
    if named is None:
        reader.scope(at)
        return
    qualified = reader.qualified(named[1])
    if trait:
        before, name = called(trait.text())
        if name:
            reader.reference(name, before, ReferenceKind.INHERIT, at.line + 1, qualified)
    reader.enter(at, qualified, TYPE)


def _module(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    if node.field("body"):
        reader.define(node, at, MODULE, name.text())
    else:
        reader.imported(f"self::{name.text()}", at)


def _use(reader: Reader, node: SgNode, at: Span) -> None:
    tree = node.field("argument")
    if tree is None:
        return
    for module, name, here in _used(re.sub(r"//[^\n]*", "", tree.text()), ""):
        reader.imported(module, at, [(name, here)] if name else [], alias="" if name else here)


def _used(tree: str, prefix: str) -> list[tuple[str, str, str]]:
    """(module, name there, name here) of each leaf of a tree of paths."""
    tree = tree.strip()
    if "{" in tree:
        head, _, inner = tree.partition("{")
        head = head.strip().removesuffix("::")
        base = "::".join(each for each in (prefix, head) if each)
        return [leaf for piece in _pieces(inner.rpartition("}")[0]) if piece.strip() for leaf in _used(piece, base)]
    path, _, alias = (each.strip() for each in tree.partition(" as "))
    whole = "::".join(each for each in (prefix, path) if each)
    module, _, name = whole.rpartition("::")
    if name == "self":
        return [(module, "", alias)]
    if not module:
        return [(name, "", alias)]
    return [(module, name, alias or name)]


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]


def _macro(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("macro")
    if name is not None:
        before, last = called(name.text())
        reader.reference(last, before, ReferenceKind.CALL, at.line + 1)


def _literal(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None and name.text() != "Self":
        reader.call(name.text(), at, new=True)


def _closing(reader: Reader) -> None:
    said: list[str] = []
    for line in reader.source.lines:
        if line.startswith("//!"):
            said.append(line[3:].strip())
        elif line.strip() and not line.startswith(("#!", "//")):
            break
    reader.doc = "\n".join(said).strip()


RULES = Rules(
    grammar="rust",
    handlers={
        "function_item": defines(FUNCTION),
        "function_signature_item": defines(FUNCTION),
        "closure_expression": scope,
        "struct_item": _type,
        "enum_item": _type,
        "union_item": _type,
        "trait_item": _type,
        "type_item": defines(TYPE, local=False),
        "macro_definition": defines(FUNCTION),
        "impl_item": _impl,
        "mod_item": _module,
        "const_item": constant(),
        "static_item": constant(),
        "use_declaration": _use,
        "extern_crate_declaration": lambda reader, node, at: reader.imported(node.text().split()[-1].rstrip(";"), at),
        "call_expression": calls("function"),
        "macro_invocation": _macro,
        "struct_expression": _literal,
    },
    comments=CommentStyle(attribute=("#[",)),
    exported=lambda name, signature: signature.startswith("pub"),
    parameter=NAME_THEN_TYPE,
    closing=_closing,
)
