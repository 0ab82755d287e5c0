"""What Python's nodes mean."""

from __future__ import annotations

import re
from inspect import cleandoc

from ast_grep_py import SgNode

from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, NAME_THEN_TYPE, TYPE, calls, scope, wrapper
from sylk_ray.codebase.reading.source import HASHES, MOST_OF_A_DOC

_DOCSTRING = re.compile(
    r"(?:\s|#[^\n]*\n)*+[rRuU]?((\"\"\"|''')|\"|')(?P<said>(?:\\.|(?!\1)[^\\])*+)(?:\1|(?(2)\Z|(?!)))", re.DOTALL
)
"""Each character is taken in one way alone. Of what three quotes open and nothing closes in the stretch that is looked
at, there is what that has."""
_IMPORTED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_FROM = re.compile(r"from\s+(\.*)\s*([\w.]*)\s+import\s*(.*)", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_KEPT = re.compile(r"(self\.\w+)\s*=\s*(\w+)\s*(?:\bor\b|$)")
_NAMES = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:,\s*[A-Za-z_]\w*\s*)*$")


def _docstring(text: str, start: int, end: int) -> str:
    found = _DOCSTRING.match(text, start, end)
    return cleandoc(found["said"]).strip()[:MOST_OF_A_DOC] if found else ""


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    _definition(reader, node, at, is_class=False)


def _class(reader: Reader, node: SgNode, at: Span) -> None:
    _definition(reader, node, at, is_class=True)


def _definition(reader: Reader, node: SgNode, at: Span, *, is_class: bool) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None or body is None:
        return
    within = body.range().start
    last = node.field("superclasses") if is_class else node.field("return_type") or node.field("parameters")
    end = (last or name).range().end.index
    doc = _docstring(reader.text, within.index, at.end)
    symbol = reader.define(node, at, TYPE if is_class else FUNCTION, name.text(), body=end, doc=doc)
    reader.stack[-1].body_column = within.column
    if is_class and (bases := node.field("superclasses")):
        reader.inherit(bases.text()[1:-1], at.line + 1, symbol.qualified)


def _bind(reader: Reader, said: str) -> None:
    """A local variable or a field whose type is annotated, or a field that keeps an annotated parameter."""
    annotated = NAME_THEN_TYPE.match(said)
    kept = _KEPT.match(said) if said.startswith("self.") else None
    if annotated:
        name, of = annotated["name"], annotated["type"]
    elif kept:
        name, of = kept[1], reader.bindings.get((reader.within, kept[2]), "")
    else:
        return
    if of:
        reader.bind(name, of, reader.enclosing_type() if name.startswith("self.") else reader.within)


def _assignment(reader: Reader, node: SgNode, at: Span) -> None:
    frame = reader.stack[-1] if reader.stack else None
    if reader.in_function:
        _bind(reader, node.text())
    if frame is not None and (frame.kind is not TYPE or frame.body_column != at.column):
        return
    if frame is None and at.column:
        return
    left = reader.text[at.start : reader.text.find("=", at.start, at.end)] if node.field("right") else node.text()
    target = left.split(":", 1)[0]
    if not _NAMES.match(target):
        return
    for name in target.split(","):
        if name.strip():
            reader.define(node, at, CONSTANT, name.strip(), body=at.end, enter=False)


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    for each in _IMPORTED.finditer(node.text().replace("\\\n", " ").split("import", 1)[1]):
        reader.imported(each[1], at, alias=each[2] or "")


def _import_from(reader: Reader, node: SgNode, at: Span) -> None:
    found = _FROM.match(_COMMENT.sub("", node.text().replace("\\\n", " ")))
    if found is None:
        return
    dots, module, imported = found.groups()
    names = [("*", "*")] if imported.strip() == "*" else []
    names = names or [(each[1], each[2] or each[1]) for each in _IMPORTED.finditer(imported)]
    reader.imported(module, at, names, relative=len(dots))


def _closing(reader: Reader) -> None:
    reader.doc = _docstring(reader.text, reader.text.find("\n") + 1 if reader.text.startswith("#!") else 0, 20_000)


RULES = Rules(
    grammar="python",
    handlers={
        "function_definition": _function,
        "class_definition": _class,
        "decorated_definition": wrapper,
        "lambda": scope,
        "assignment": _assignment,
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": _import_from,
        "call": calls("function"),
    },
    comments=HASHES,
    exported=lambda name, signature: not name.startswith("_") or (name.startswith("__") and name.endswith("__")),
    parameter=NAME_THEN_TYPE,
    closing=_closing,
)
