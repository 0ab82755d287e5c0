"""What Elixir's nodes mean. All of its definitions are calls."""

from __future__ import annotations

import re
from inspect import cleandoc

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.names import called
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, TYPE, scope
from sylk_ray.codebase.reading.source import HASHES

_MODULE = re.compile(r"def(?:module|protocol|impl)\s+([\w.]+)(?:\s*,\s*for:\s*([\w.]+))?")
_FUNCTION = re.compile(r"(?:def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate)[\s(]+([a-z_]\w*[!?]?)")
_IMPORT = re.compile(r"(alias|import|use|require)[\s(]+([\w.]+?)(?:\.\{([^}]*)\})?(?:\s*,\s*as:\s*(\w+))?(?:[\s,)]|$)")
_ATTRIBUTE = re.compile(r"@([a-z_]\w*)\s+\S")
_TYPES = ("@spec", "@type", "@callback", "@opaque", "@macrocallback")
_LANGUAGE = frozenset(
    ("case", "cond", "if", "unless", "with", "for", "receive", "try", "raise", "quote", "unquote", "defstruct")
)
_SAID = re.compile(r"@(?:module)?doc\s+(?:~[sS])?(?:\"\"\"(.*?)\"\"\"|\"([^\"\n]*)\")", re.DOTALL)
_KNOWN = frozenset(
    {"doc", "moduledoc", "typedoc", "spec", "type", "typep", "opaque", "impl", "callback", "behaviour", "dialyzer"}
)


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    target = node.field("target")
    if target is None:
        return
    word = target.text()
    if word in ("defmodule", "defprotocol", "defimpl"):
        _module(reader, node, at)
    elif word in ("def", "defp", "defmacro", "defmacrop", "defguard", "defguardp", "defdelegate"):
        _function(reader, node, at)
    elif word in ("alias", "import", "use", "require"):
        _import(reader, at)
    elif word not in _LANGUAGE and not _is_head_or_attribute(reader, at):
        before, name = called(word)
        if name:
            reader.reference(name, before, ReferenceKind.CALL, at.line + 1)


def _is_head_or_attribute(reader: Reader, at: Span) -> bool:
    """The call-like head of a definition, or what follows an ``@``."""
    before = reader.text[max(at.start - 14, 0) : at.start]
    said = reader.source.lines[at.line].lstrip()
    return said.startswith(_TYPES) or bool(re.search(r"(?:\bdef\w*[\s(]+|@)$", before))


def _module(reader: Reader, node: SgNode, at: Span) -> None:
    found = _MODULE.match(reader.text, at.start, at.end)
    if found is None:
        return
    name = found[2] or found[1]
    body = reader.text.find(" do", at.start, at.end)
    said = _SAID.match(reader.text, _after(reader, body + 3), at.end)
    doc = cleandoc(said[1] or said[2]).strip() if said and "@moduledoc" in said[0] else ""
    if found[2]:
        reader.reference(found[1].split(".")[-1], found[1].rpartition(".")[0], ReferenceKind.INHERIT, at.line + 1, name)
        reader.enter(at, name, TYPE)
        return
    reader.define(
        node, at, TYPE, name, qualified=reader.qualified(name), body=max(body, at.start + 1), doc=doc, uses=False
    )


def _after(reader: Reader, start: int) -> int:
    while start < len(reader.text) and reader.text[start].isspace():
        start += 1
    return start


def _function(reader: Reader, node: SgNode, at: Span) -> None:
    found = _FUNCTION.match(reader.text, at.start, at.end)
    if found is None:
        return
    body = re.compile(r"\s+do\b|,\s*do:").search(reader.text, at.start, at.end)
    end = body.start() if body else at.end
    doc, line = _about(reader, at)
    at.line, written = line, at.line
    exported = not found[0].startswith(("defp", "defmacrop", "defguardp"))
    reader.define(node, at, FUNCTION, found[1], body=end, doc=doc, exported=exported)
    at.line = written


def _about(reader: Reader, at: Span) -> tuple[str, int]:
    """What ``@doc`` says right above, and the line where it and the other attributes begin."""
    before = reader.text[max(at.start - 3000, 0) : at.start].rstrip(" \t\n")
    blank = max(before.rfind("\n  end\n"), before.rfind("\n\n  def"))
    found = re.compile(r"@(?:doc|spec|impl|deprecated)\b").finditer(before, max(blank, 0))
    start = next((each.start() for each in found), -1)
    if start < 0 or re.search(r"^\s*(?:def\w*|@(?!doc|spec|impl|deprecated|since)\w+)\s", before[start:], re.MULTILINE):
        return "", at.line
    said = _SAID.match(before, start)
    line = at.line - reader.text[max(at.start - 3000, 0) : at.start].count("\n", start)
    return (cleandoc(said[1] or said[2] or "").strip() if said else ""), line


def _import(reader: Reader, at: Span) -> None:
    found = _IMPORT.match(reader.text, at.start, at.end)
    if found is None:
        return
    word, module, group, alias = found.groups()
    if group:
        for each in group.split(","):
            reader.imported(f"{module}.{each.strip()}", at, alias=each.strip().split(".")[-1])
    elif word == "alias":
        reader.imported(module, at, alias=alias or module.split(".")[-1])
    else:
        reader.imported(module, at, [("*", "*")] if word in ("import", "use") else [])


def _attribute(reader: Reader, node: SgNode, at: Span) -> None:
    found = _ATTRIBUTE.match(reader.text, at.start, at.end)
    if found and found[1] not in _KNOWN and reader.type_frame:
        reader.define(node, at, CONSTANT, found[1], body=at.end, enter=False, uses=False)


RULES = Rules(
    grammar="elixir",
    handlers={"call": _call, "unary_operator": _attribute, "anonymous_function": scope},
    comments=HASHES,
)
