"""Handlers that languages share, made from the names of fields and kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import Symbol, SymbolKind
from sylk_ray.codebase.reading.reader import Handler, Reader, Span, span_of

FUNCTION, METHOD, TYPE = SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.TYPE
CONSTANT, MODULE = SymbolKind.CONSTANT, SymbolKind.MODULE

NAME_THEN_TYPE = re.compile(
    r"(?P<name>(?:self\.)?\b[a-z_]\w*)\??\s*:\s*(?:[&*?]|'\w+\s|mut\s|dyn\s|readonly\s)*(?P<type>(?:\w+(?:\.|::))*[A-Z]\w*)"
)
"""``store: Store`` in Python, TypeScript, Rust, Kotlin, Scala and Swift."""
TYPE_THEN_NAME = re.compile(
    r"\b(?P<type>(?:\w+(?:\.|::|\\))*[A-Z]\w*)(?:<[^<>()]*>)?(?:\s*[*&?]+\s*|\s+)\$?(?P<name>[a-z_]\w*)\s*(?=[,);={]|$)"
)
"""``Store store`` in Java, C#, C++ and PHP."""

_INTERFACE = re.compile(r"\b(?:interface|protocol|trait|expect|delegate)\b|\btype\s+\w[^=]*=")


def defines(kind: SymbolKind, field: str = "name", *, local: bool = True) -> Handler:
    """A definition that is named by a field. ``local=False``: one within a function does not count."""

    def handler(reader: Reader, node: SgNode, at: Span) -> None:
        named = node.field(field)
        if named is None or (reader.in_function and not local):
            reader.scope(at)
        else:
            reader.define(node, at, kind, named.text())

    return handler


def constant(field: str = "name") -> Handler:
    """A constant or variable that counts where it is no local one."""

    def handler(reader: Reader, node: SgNode, at: Span) -> None:
        named = node.field(field)
        if named is not None and not reader.in_function:
            reader.define(node, at, CONSTANT, named.text().lstrip("$"), enter=False)

    return handler


def calls(field: str = "function", *, new: bool = False) -> Handler:
    """A call of what a field names."""

    def handler(reader: Reader, node: SgNode, at: Span) -> None:
        callee = node.field(field)
        if callee is not None:
            reader.call(callee.text(), at, new=new)

    return handler


def calls_first_child(reader: Reader, node: SgNode, at: Span) -> None:
    """A call of what comes first in it."""
    callee = node.child(0)
    if callee is not None:
        reader.call(callee.text(), at)


def scope(reader: Reader, node: SgNode, at: Span) -> None:
    """A function without a name."""
    reader.scope(at)


def wrapper(reader: Reader, node: SgNode, at: Span) -> None:
    """What the next definition within it begins with: its decorators, ``export``, ``template <…>``."""
    if reader.wrapper is None or reader.wrapper.end <= at.start:
        reader.wrapper = at


def of_interfaces(path: str, symbols: Sequence[Symbol]) -> bool:
    """Whether a file's types are interfaces or other names of types, all that stand in no other."""
    outer: list[str] = []
    for each in symbols:
        if each.kind is TYPE and not (outer and each.qualified.startswith(f"{outer[-1]}.")):
            if not _INTERFACE.search(each.signature):
                return False
            outer.append(each.qualified)
    return bool(outer)


def package(reader: Reader, node: SgNode, at: Span) -> None:
    """The package that the file says that it belongs to."""
    words = node.text().split(None, 1)
    if len(words) == 2 and not reader.package:
        reader.package = words[1].strip("; \n").split("{")[0].strip()
    reader.covered.append((at.line + 1, at.line + 1))


def first_of_kind(node: SgNode, *kinds: str) -> SgNode | None:
    """The first child of one of some kinds."""
    return next((child for child in node.children() if child.kind() in kinds), None)


def child_text(node: SgNode, kind: str) -> str:
    """The text of the first child of a kind, empty if there is none."""
    found = first_of_kind(node, kind)
    return found.text() if found else ""


__all__ = [
    "CONSTANT",
    "FUNCTION",
    "METHOD",
    "MODULE",
    "NAME_THEN_TYPE",
    "TYPE",
    "TYPE_THEN_NAME",
    "calls",
    "calls_first_child",
    "child_text",
    "constant",
    "defines",
    "first_of_kind",
    "of_interfaces",
    "package",
    "scope",
    "span_of",
    "wrapper",
]
