"""What the nodes of JavaScript and TypeScript mean."""

from __future__ import annotations

import re

import msgspec
from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind, Symbol
from sylk_ray.codebase.reading.reader import Handler, Reader, Rules, Span
from sylk_ray.codebase.reading.rules import (
    CONSTANT,
    FUNCTION,
    METHOD,
    MODULE,
    NAME_THEN_TYPE,
    TYPE,
    calls,
    defines,
    of_interfaces,
)

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_REQUIRE = re.compile(r"(?:await\s+)?(?:require|import)\(\s*['\"]([^'\"]+)['\"]\s*\)(\.\w+)?\s*;?$")
_FROM = re.compile(r"\bfrom\s*['\"]([^'\"]+)['\"]|^import\s*['\"]([^'\"]+)['\"]|\brequire\(\s*['\"]([^'\"]+)['\"]")
_CLAUSE = re.compile(r"(?:import|export)\s+(?:type\s+)?(.*?)(?:\bfrom\b|=\s*require|$)", re.DOTALL)
_SPECIFIER = re.compile(r"(?:type\s+)?([\w$]+|\"[^\"]+\")(?:\s+as\s+([\w$]+))?\s*(?:,|$)")
_DESTRUCTURED = re.compile(r"([\w$]+)(?:\s*:\s*([\w$]+))?\s*(?:=[^,}]*)?(?:,|$)")
_MEMBER = re.compile(r"(?:module\.)?exports(?:\.([\w$]+))?$|([\w$.]+)\.([\w$]+)$")
_HERITAGE = re.compile(r"\b(?:extends|implements)\b")


def _export(reader: Reader, node: SgNode, at: Span) -> None:
    reader.wrapper = at
    text = node.text()
    if node.field("source") is not None:
        _import(reader, node, at)
    elif node.field("declaration") is None:
        clause = re.match(r"export\s*\{(.*?)\}", text, re.DOTALL)
        if clause:
            reader.public.update(each[1] for each in _SPECIFIER.finditer(clause[1].replace("\n", " ")))
            reader.covered.append((at.line + 1, at.end_line + 1))
        elif plain := re.match(r"export\s+(?:default|=)\s+([\w$]+)\s*;?$", text):
            reader.public.add(plain[1])
    reader.public.add("")


def _import(reader: Reader, node: SgNode, at: Span) -> None:
    text = node.text()
    found = _FROM.search(text)
    if found is None:
        return
    module = found[1] or found[2] or found[3]
    clause = _CLAUSE.match(text)
    said = clause[1].strip() if clause and not found[2] else ""
    names: list[tuple[str, str]] = []
    alias = ""
    braces = re.search(r"\{(.*?)\}", said, re.DOTALL)
    if braces:
        for each in _SPECIFIER.finditer(re.sub(r"\s+", " ", braces[1]).strip()):
            names.append((each[1], each[2] or each[1]))
        said = (said[: braces.start()] + said[braces.end() :]).strip(" ,\n")
    if star := re.search(r"\*(?:\s+as\s+([\w$]+))?", said):
        alias = star[1] or ""
        names += [] if alias else [("*", "*")]
        said = said[: star.start()].strip(" ,\n")
    if said:
        if found[3]:
            alias = said
        else:
            names.insert(0, ("default", said))
    reader.imported(module, at, names, alias=alias)


def _declarator(reader: Reader, node: SgNode, at: Span) -> None:
    name, value = node.field("name"), node.field("value")
    if name is None:
        return
    required = _REQUIRE.match(value.text()) if value and value.kind() in _REQUIRING else None
    if required and not reader.in_function:
        _required(reader, name.text(), required, at)
        return
    if reader.in_function or (not reader.stack and not _at_top(reader, at)):
        return
    if name.kind() in ("object_pattern", "array_pattern"):
        return
    _value(reader, node, at, name.text(), value)


_REQUIRING = frozenset({"call_expression", "await_expression", "member_expression"})


def _required(reader: Reader, target: str, required: re.Match[str], at: Span) -> None:
    if target.startswith("{"):
        names = [
            (each[1], each[2] or each[1]) for each in _DESTRUCTURED.finditer(re.sub(r"\s+", " ", target[1:-1]).strip())
        ]
        reader.imported(required[1], at, names)
    elif required[2]:
        reader.imported(required[1], at, [(required[2][1:], target)])
    else:
        reader.imported(required[1], at, alias=target)


def _at_top(reader: Reader, at: Span) -> bool:
    """Whether a declaration stands at the margin, its keyword and ``export`` before it."""
    start = at.start - at.column
    return not reader.text[start : start + 1].isspace()


def _value(reader: Reader, node: SgNode, at: Span, name: str, value: SgNode | None) -> None:
    """A function, a type or a constant that is given a name."""
    start = at.start - at.column
    if re.fullmatch(r"(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s+", reader.text[start : at.start]):
        at = Span(start, at.end, at.line, at.end_line, 0)
    kind = value.kind() if value else ""
    if value and kind in _FUNCTIONS:
        body = value.field("body")
        reader.define(node, at, FUNCTION, name, body=_body(reader, body, at))
    elif value and kind == "class":
        body = value.field("body")
        reader.define(node, at, TYPE, name, body=body.range().start.index if body else 0)
    else:
        object_ = kind == "object"
        reader.define(node, at, CONSTANT, name, body=at.end, enter=object_)


def _body(reader: Reader, body: SgNode | None, at: Span) -> int:
    if body is None:
        return at.end
    start = body.range().start.index
    arrow = reader.text.rfind("=>", at.start, start)
    return arrow if arrow > 0 and not reader.text[arrow + 2 : start].strip(" (\n") else start


def _assignment(reader: Reader, node: SgNode, at: Span) -> None:
    left, right = node.field("left"), node.field("right")
    if left is None or right is None or left.kind() != "member_expression" or reader.in_function or reader.stack:
        return
    target = _MEMBER.match(left.text())
    if target is None:
        return
    if target[2] is None:
        if right.kind() == "identifier":
            reader.public.add(right.text())
        elif right.kind() == "object" and target[1] is None:
            reader.public.update(re.findall(r"(?:^\{|,)\s*([\w$]+)(?=\s*[,}(:])", right.text()))
            reader.enter(at, "", CONSTANT)
        elif target[1]:
            _value(reader, node, at, target[1], right)
            reader.public.add(target[1])
        elif right.kind() in _FUNCTIONS or right.kind() == "class":
            name = right.field("name")
            if name:
                _value(reader, node, at, name.text(), right)
                reader.public.add(name.text())
        reader.public.add("")
    elif right.kind() in _FUNCTIONS:
        owner = target[2].removesuffix(".prototype")
        method = target[2] != owner
        body = _body(reader, right.field("body"), at)
        qualified = f"{owner.split('.')[-1]}.{target[3]}"
        reader.define(node, at, METHOD if method else FUNCTION, target[3], qualified=qualified, body=body)


def _function_value(reader: Reader, node: SgNode, at: Span) -> None:
    """Of a definition's own value nothing is said again; any other is a scope."""
    top = reader.stack[-1] if reader.stack else None
    if top is None or top.end - at.end > 1 or top.kind not in (FUNCTION, METHOD):
        reader.scope(at)


def _member(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    text = name.text()
    if reader.type_frame:
        reader.define(node, at, METHOD, text, exported=_visible(text, reader.text[at.start : at.start + 60]))
    elif _in_plain_object(reader):
        reader.define(node, at, FUNCTION, text)
    else:
        reader.scope(at)


def _in_plain_object(reader: Reader) -> bool:
    """Whether it stands directly in an object at the top level."""
    return len(reader.stack) == 1 and reader.stack[0].kind is CONSTANT


def _pair(reader: Reader, node: SgNode, at: Span) -> None:
    value, key = node.field("value"), node.field("key")
    if value and key and value.kind() in _FUNCTIONS and _in_plain_object(reader):
        body = _body(reader, value.field("body"), at)
        reader.define(node, at, FUNCTION, key.text().strip("'\""), body=body)


def _field(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name") or node.field("property")
    if name is None or not reader.type_frame:
        return
    value = node.field("value")
    visible = _visible(name.text(), reader.text[at.start : at.start + 60])
    of = reader.type_frame.qualified
    if value and value.kind() in _FUNCTIONS:
        body = _body(reader, value.field("body"), at)
        reader.define(node, at, METHOD, name.text(), body=body, exported=visible)
    else:
        symbol = reader.define(node, at, CONSTANT, name.text(), body=at.end, enter=False, exported=visible)
        for annotated in NAME_THEN_TYPE.finditer(symbol.signature):
            reader.bind(f"this.{annotated['name']}", annotated["type"], of)


def _visible(name: str, beginning: str) -> bool:
    return not name.startswith(("#", "_")) and not re.match(r"(?:\w+\s+)*?private\b", beginning)


def _class(reader: Reader, node: SgNode, at: Span) -> None:
    name, body = node.field("name"), node.field("body")
    if name is None or body is None:
        reader.scope(at)
        return
    start = body.range().start.index
    symbol = reader.define(node, at, TYPE, name.text(), body=start)
    head = reader.text[at.start : start]
    for clause in _HERITAGE.split(head)[1:]:
        reader.inherit(clause.strip(" {\n"), at.line + 1, symbol.qualified)


def _constructor_fields(reader: Reader) -> None:
    """``constructor(private db: Database)`` makes fields."""
    for symbol in reader.symbols:
        if symbol.name == "constructor":
            of = symbol.qualified.rpartition(".")[0]
            for each in re.finditer(
                r"\b(?:private|public|protected|readonly)\s+(\w+)\??\s*:\s*([A-Z]\w*)", symbol.signature
            ):
                reader.bind(f"this.{each[1]}", each[2], of)


def _closing(reader: Reader) -> None:
    """What is not exported is hidden, in a file that exports anything."""
    _constructor_fields(reader)
    if not reader.public:
        return
    for at, symbol in enumerate(reader.symbols):
        top = "." not in symbol.qualified
        if top and symbol.name not in reader.public and not _exports(symbol):
            reader.symbols[at] = msgspec.structs.replace(symbol, exported=False)


def _exports(symbol: Symbol) -> bool:
    return symbol.signature.startswith(("export ", "exports.", "module.exports", "declare "))


def _module(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None:
        reader.define(node, at, MODULE, name.text().strip("'\""))


def _element(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name") or node.child(1)
    if name is not None and name.text()[:1].isupper():
        reader.reference(
            name.text().rsplit(".", 1)[-1], name.text().rpartition(".")[0], ReferenceKind.CALL, at.line + 1
        )


def _call(reader: Reader, node: SgNode, at: Span) -> None:
    callee = node.field("function")
    if callee is None:
        return
    text = callee.text()
    if text in ("require", "import"):
        found = _REQUIRE.match(reader.text[at.start : at.end])
        if found and not any(each.line == at.line + 1 for each in reader.imports):
            reader.imported(found[1], at)
            reader.covered.pop()
    elif text != "super":
        reader.call(text, at)


def _signature(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    kind = METHOD if reader.type_frame else FUNCTION
    reader.define(node, at, kind, name.text(), body=at.end, enter=False)


def _property(reader: Reader, node: SgNode, at: Span) -> None:
    """A property of an interface is a part of the interface; its type is known."""
    if reader.type_frame:
        for annotated in NAME_THEN_TYPE.finditer(node.text()):
            reader.bind(f"this.{annotated['name']}", annotated["type"], reader.type_frame.qualified)


def _alias(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is not None and not reader.in_function:
        reader.define(node, at, TYPE, name.text(), body=at.end, enter=False)


_BOTH: dict[str, Handler] = {
    "import_statement": _import,
    "export_statement": _export,
    "function_declaration": defines(FUNCTION),
    "generator_function_declaration": defines(FUNCTION),
    "class_declaration": _class,
    "method_definition": _member,
    "variable_declarator": _declarator,
    "assignment_expression": _assignment,
    "arrow_function": _function_value,
    "function_expression": _function_value,
    "generator_function": _function_value,
    "pair": _pair,
    "call_expression": _call,
    "new_expression": calls("constructor", new=True),
}
_JSX: dict[str, Handler] = {"jsx_opening_element": _element, "jsx_self_closing_element": _element}
_TYPED: dict[str, Handler] = {
    "abstract_class_declaration": _class,
    "interface_declaration": _class,
    "enum_declaration": defines(TYPE, local=False),
    "type_alias_declaration": _alias,
    "function_signature": _signature,
    "method_signature": _signature,
    "abstract_method_signature": _signature,
    "property_signature": _property,
    "public_field_definition": _field,
    "internal_module": _module,
    "module": _module,
}


def _is_visible(name: str, signature: str) -> bool:
    return not name.startswith("#")


def _rules(grammar: str, *more: dict[str, Handler]) -> Rules:
    handlers = dict(_BOTH)
    for each in more:
        handlers.update(each)
    return Rules(
        grammar=grammar,
        handlers=handlers,
        exported=_is_visible,
        parameter=NAME_THEN_TYPE,
        closing=_closing,
        declares=of_interfaces,
    )


JAVASCRIPT = _rules("javascript", _JSX, {"field_definition": _field})
TYPESCRIPT = _rules("typescript", _TYPED)
TSX = _rules("tsx", _TYPED, _JSX)
