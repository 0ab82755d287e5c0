"""What HCL's nodes mean: blocks, by the names that Terraform refers to them with."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, TYPE
from sylk_ray.codebase.reading.source import CommentStyle

_HEAD = re.compile(r"(\w[\w-]*)((?:\s+(?:\"[^\"]*\"|[\w-]+))*)\s*\{")
_LABEL = re.compile(r"[\w./-]+")
_SOURCE = re.compile(r"^\s*source\s*=\s*\"([^\"]+)\"", re.MULTILINE)
_REFERRED = re.compile(r"\b((?:data\.)?[a-z][\w-]*)\.([A-Za-z_][\w-]*)")
_CALLED_OTHERWISE = {"variable": "var", "resource": ""}
_VALUES = frozenset({"variable", "output"})
_NAMESPACES = frozenset({"var", "local", "module"})


def _block(reader: Reader, node: SgNode, at: Span) -> None:
    head = _HEAD.match(reader.text, at.start, at.end)
    if head is None or reader.stack:
        return
    word, labels = head[1], _LABEL.findall(head[2])
    if word == "locals":
        return
    written = [_CALLED_OTHERWISE.get(word, word), *labels]
    qualified = ".".join(each for each in written if each)
    kind = CONSTANT if word in _VALUES else TYPE
    name = labels[-1] if labels else word
    reader.define(node, at, kind, name, qualified=qualified, body=head.end() - 1, uses=False)
    source = _SOURCE.search(node.text()) if word == "module" else None
    if source:
        reader.imported(source[1], at, alias=name)


def _attribute(reader: Reader, node: SgNode, at: Span) -> None:
    name, _, value = node.text().partition("=")
    name = name.strip()
    if not reader.stack:
        local = at.column > 0 and name.isidentifier()
        qualified = f"local.{name}" if local else name
        reader.define(node, at, CONSTANT, name, qualified=qualified, body=at.end, uses=False)
    for found in _REFERRED.finditer(value):
        if found[1] in _NAMESPACES or "_" in found[1] or found[1].startswith("data."):
            line = at.line + 1 + value.count("\n", 0, found.start())
            reader.reference(found[2], found[1], ReferenceKind.USE, line)


RULES = Rules(
    grammar="hcl",
    handlers={"block": _block, "attribute": _attribute},
    comments=CommentStyle(line=("#", "//"), block=("/*", "*/")),
)
