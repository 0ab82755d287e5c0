"""What Ruby's nodes mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import called
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, METHOD, MODULE, TYPE, scope
from sylk_ray.codebase.reading.source import CommentStyle

_REQUIRED = re.compile(
    r"(require|require_relative|load|autoload)\b[\s(]*(?:(?::\w+|['\"]\w+['\"])\s*,\s*)?['\"]([^'\"#]+)['\"]"
)
_MIXED_IN = frozenset({"include", "extend", "prepend"})
_VISIBILITY = frozenset({"private", "protected", "public", "module_function", "private_class_method"})


def _type(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    plain = name.text().replace("::", ".").lstrip(".")
    superclass = node.field("superclass")
    end = reader.text.find("\n", at.start, at.end)
    end = end if end > 0 else (superclass or name).range().end.index
    kind = MODULE if node.kind() == "module" else TYPE
    reader.hidden = False
    qualified = reader.qualified(plain)
    symbol = reader.define(node, at, kind, plain.split(".")[-1], qualified=qualified, body=end)
    if superclass:
        reader.inherit(superclass.text().lstrip("< "), at.line + 1, symbol.qualified)


def _method(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    parameters = node.field("parameters")
    end = (parameters or name).range().end.index
    kind = METHOD if reader.stack and reader.stack[-1].kind in (TYPE, MODULE) else FUNCTION
    wrapped = reader.text[at.start - at.column : at.start].strip()
    hidden = wrapped in ("private", "protected") or (reader.hidden and node.kind() == "method")
    qualified = ""
    if node.kind() == "singleton_method":
        of = node.field("object")
        if of and of.text() != "self":
            qualified = f"{of.text().replace('::', '.')}.{name.text()}"
    reader.define(node, at, kind, name.text(), qualified=qualified, body=end, exported=not hidden)


def _singleton(reader: Reader, node: SgNode, at: Span) -> None:
    reader.enter(at, reader.within, TYPE)


def _bare(reader: Reader, node: SgNode, at: Span) -> None:
    """``private`` alone hides what follows in its type; a plain name that stands alone may be a call."""
    word = node.text()
    if word in _VISIBILITY and not reader.in_function and reader.stack:
        line = reader.source.lines[at.line].strip()
        if line == word:
            reader.hidden = word in ("private", "protected")


def _assignment(reader: Reader, node: SgNode, at: Span) -> None:
    left = node.field("left")
    if left is None or left.kind() != "constant" or reader.in_function:
        return
    reader.define(node, at, CONSTANT, left.text(), body=at.end, enter=False)


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    name, of = node.field("method"), node.field("receiver")
    if name is None:
        return
    word = name.text()
    if of is None:
        if word in ("require", "require_relative", "load", "autoload"):
            found = _REQUIRED.match(reader.text, at.start, at.end)
            if found:
                reader.imported(found[2], at, relative=int(found[1] == "require_relative"))
            return
        arguments = node.field("arguments")
        if word in _MIXED_IN and arguments and not reader.in_function:
            reader.inherit(arguments.text().strip("()"), at.line + 1, reader.within)
            return
        if word in _VISIBILITY or word.startswith("attr_"):
            return
        reader.reference(word, "", ReferenceKind.CALL, at.line + 1)
        return
    before = called(of.text() + ".x")[0]
    reader.reference(word, before, ReferenceKind.CALL, at.line + 1)
    if word == "new" and before[:1].isupper():
        target = re.search(r"(@?\w+)\s*(?:\|\|)?=\s*$", reader.text[max(at.start - 60, 0) : at.start])
        if target:
            field = target[1].startswith("@")
            reader.bindings.setdefault((reader.enclosing_type() if field else reader.within, target[1]), before)


RULES = Rules(
    grammar="ruby",
    handlers={
        "class": _type,
        "module": _type,
        "singleton_class": _singleton,
        "method": _method,
        "singleton_method": _method,
        "identifier": _bare,
        "assignment": _assignment,
        "lambda": scope,
        "call": _call,
    },
    comments=CommentStyle(line=("#",), block=("=begin", "=end")),
)
