"""What Nix's nodes mean: bindings, by their paths. What a function's argument is given is local."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, SymbolKind
from sylk_ray.codebase.reading.source import HASHES

_DEEPEST = 3
_LOADS = re.compile(r"\b(?:import|callPackage|callPackages|imports\s*=\s*\[[^\]]*)\s*\(?$")


def _binding(reader: Reader, node: SgNode, at: Span) -> None:
    path, value = node.field("attrpath"), node.field("expression")
    if path is None or value is None or reader.in_function or len(reader.stack) >= _DEEPEST:
        return
    kind: SymbolKind = FUNCTION if value.kind() == "function_expression" else CONSTANT
    end = at.end if kind is CONSTANT else _body_of(value)
    written = path.text().replace('"', "")
    head, _, name = written.rpartition(".")
    qualified = reader.qualified(written)
    reader.define(node, at, kind, name or head, qualified=qualified, body=end, uses=False)


def _body_of(function: SgNode) -> int:
    body = function.field("body")
    while body is not None and body.kind() == "function_expression":
        function, body = body, body.field("body")
    return body.range().start.index if body else function.range().end.index


def _path(reader: Reader, node: SgNode, at: Span) -> None:
    written = node.text()
    if written.endswith(".nix") or _LOADS.search(reader.text, max(at.start - 400, 0), at.start):
        covered = len(reader.covered)
        reader.imported(written, at)
        del reader.covered[covered:]


def _apply(reader: Reader, node: SgNode, at: Span) -> None:
    callee = node.field("function")
    if callee is not None and callee.kind() in ("variable_expression", "select_expression"):
        reader.call(callee.text(), at)


RULES = Rules(
    grammar="nix",
    handlers={"binding": _binding, "path_expression": _path, "apply_expression": _apply},
    comments=HASHES,
    capitals_are_types=False,
)
