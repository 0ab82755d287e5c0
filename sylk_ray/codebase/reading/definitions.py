"""Definitions found by the beginnings of lines, for languages without a grammar.

A definition goes to where a line is not indented more than its first: closing words and brackets there still belong to
it. Where the language says otherwise (a full stop, a semicolon, ``@end``), it goes to the line that says so. What is
defined within a function is its own affair and no symbol; what is within a type or module is qualified by it.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from sylk_ray.codebase.outline import Import, Outline, Symbol, SymbolKind
from sylk_ray.codebase.reading.source import CommentStyle, Source
from sylk_ray.codebase.reading.uncovered import uncovered_parts

MOST_OF_A_SIGNATURE = 300
_TAB = 4
_CLOSING = re.compile(
    r"(?:end\w*(?:\s+\w+)?|done|fi|esac)?\s*[\])}>;,.]*\s*(?:$|--|//|/\*|[#%\"!])|[)\]}]|\$\$", re.IGNORECASE
)
_OPENING = re.compile(r"[{(]$")
_CONTINUING = re.compile(r"(?:begin|is)$", re.IGNORECASE)
_QUOTES = frozenset("\"'`[(")
_PATH = re.compile(
    r"(?:[\w$!?-]+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\])(?:(?:::?|[./#])(?:[\w$!?<-]+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\]))*"
)
_SEPARATOR = re.compile(r"::?|[./#](?!.*[\"`])|[./](?=[\"`\[])|(?<=[\"`\]])\.")
_SPACE = re.compile(r"\s+")


class Beginning(msgspec.Struct, frozen=True):
    """What the first line of a definition looks like."""

    kind: SymbolKind
    pattern: str
    """Matched at a line's first character that is no space; group 1 is the name, with ``.``, ``::`` or ``/`` what it is
    qualified by. Without a group there is no name, and no symbol, but what is within is its own."""
    until: str = ""
    """Searched in the lines from the first on: the one that has it is the last."""


class LineRules(msgspec.Struct, frozen=True):
    """What a language's lines mean. Patterns are compiled when a file of the language is first read."""

    beginnings: tuple[Beginning, ...]
    comments: CommentStyle
    package: str = ""
    imports: str = ""
    """Groups: the module, by whichever of its alternatives."""
    hidden: str = ""
    """Searched in a signature: what is not for others."""
    clauses: bool = False
    """Whether a function may be written in several pieces that follow each other."""


class _Open(msgspec.Struct):
    symbol: Symbol | None
    indent: int
    last: int
    """The line that it goes to, from 0."""


def read_definitions(path: str, text: str, language: str, rules: LineRules) -> Outline:
    """The outline of a file by its lines."""
    source = Source(text)
    lines = source.lines[:-1] if source.lines[-1] == "" else source.lines
    symbols: list[Symbol] = []
    imports: list[Import] = []
    package = ""
    stack: list[_Open] = []
    comments = _comment_lines(lines, rules.comments)
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped or number in comments:
            continue
        while stack and stack[-1].last < number:
            stack.pop()
        if rules.package and not package and (found := _compiled(rules.package).match(stripped)):
            package = _first(found)
        if rules.imports and (found := _compiled(rules.imports).match(stripped)):
            imports.append(Import(module=_first(found), line=number + 1))
        if any(each.symbol is None or each.symbol.kind in _CALLABLE for each in stack):
            continue
        begun = next(((b, m) for b in rules.beginnings if (m := _compiled(b.pattern).match(stripped))), None)
        if begun is None:
            continue
        beginning, match = begun
        indent = _indent(line)
        last = _last_line(lines, number, indent, beginning.until, comments)
        name = next((each for each in match.groups() if each), "") if match.re.groups else ""
        symbol = None
        if name:
            symbol = _symbol(source, rules, beginning.kind, name, number, last, _within(stack))
            before = symbols[-1] if symbols else None
            if rules.clauses and before and (before.qualified, before.kind) == (symbol.qualified, symbol.kind):
                symbols[-1] = msgspec.structs.replace(before, end_line=symbol.end_line)
            else:
                symbols.append(symbol)
        stack.append(_Open(symbol, indent, last))
    doc, first, after = source.top(rules.comments)
    if any(each.start_line <= after and each.end_line > first for each in symbols):
        doc = ""
    return Outline(
        path=path,
        language=language,
        lines=len(lines),
        package=package,
        doc=doc,
        symbols=tuple(symbols),
        imports=tuple(imports),
        parts=uncovered_parts(
            lines,
            [*((each.start_line, each.end_line) for each in symbols), *((each.line, each.line) for each in imports)],
            rules.comments,
        ),
    )


_CALLABLE = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.CONSTANT})


def _symbol(
    source: Source, rules: LineRules, kind: SymbolKind, name: str, number: int, last: int, within: Symbol | None
) -> Symbol:
    parts = _parts(name)
    above, first = source.above(number, rules.comments)
    signature = _signature(source.lines, number, last)
    if kind is SymbolKind.FUNCTION and within is not None and within.kind is SymbolKind.TYPE:
        kind = SymbolKind.METHOD
    return Symbol(
        name=parts[-1],
        qualified=".".join([within.qualified, *parts] if within else parts),
        kind=kind,
        start_line=first + 1,
        end_line=last + 1,
        signature=signature,
        doc=above,
        exported=not (rules.hidden and _compiled(rules.hidden).search(signature)),
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _parts(name: str) -> list[str]:
    """A name by what it is qualified with, quotation marks taken off."""
    parts = _SEPARATOR.split(name) if _PATH.fullmatch(name) else [name]
    return [each[1:-1] if each[:1] in _QUOTES and len(each) > 2 else each for each in parts]


def _within(stack: list[_Open]) -> Symbol | None:
    return next((each.symbol for each in reversed(stack) if each.symbol is not None), None)


def _last_line(lines: list[str], first: int, indent: int, until: str, comments: frozenset[int]) -> int:
    if until:
        ends = _compiled(until)
        quoted = 0
        for at in range(first, len(lines)):
            quoted += lines[at].count("$$")
            if ends.search(lines[at]) and quoted % 2 == 0 and (at == first or _indent(lines[at]) <= indent):
                return at
        return len(lines) - 1
    last = first
    for at in range(first + 1, len(lines)):
        line = lines[at]
        stripped = line.strip()
        if not stripped:
            continue
        if _indent(line) <= indent and at not in comments:
            if _indent(line) < indent:
                return last
            if _CONTINUING.match(stripped) or (last == first and _OPENING.match(stripped)):
                last = at
                continue
            return at if (last > first or at == first + 1) and _CLOSING.match(stripped) else last
        if at not in comments:
            last = at
    return last


def _comment_lines(lines: list[str], style: CommentStyle) -> frozenset[int]:
    found: set[int] = set()
    within = False
    for number, line in enumerate(lines):
        stripped = line.strip()
        if within:
            found.add(number)
            within = style.block is not None and style.block[1] not in line
        elif stripped.startswith(style.line):
            found.add(number)
        elif style.block and stripped.startswith(style.block[0]):
            found.add(number)
            within = style.block[1] not in stripped[len(style.block[0]) :]
    return frozenset(found)


def _indent(line: str) -> int:
    width = 0
    for char in line:
        if char == "\t":
            width += _TAB
        elif char == " ":
            width += 1
        else:
            break
    return width


def _signature(lines: list[str], first: int, last: int) -> str:
    """The first line, and what follows while its round brackets are open."""
    text = lines[first]
    for at in range(first + 1, min(first + 12, last + 1)):
        if text.count("(") <= text.count(")") or text.lstrip().startswith("("):
            break
        text += f" {lines[at]}"
    plain = _SPACE.sub(" ", text).strip()
    return re.sub(r"\s*(?:\{|\bdo|\bbegin|=)$", "", plain)[:MOST_OF_A_SIGNATURE]


def _first(found: re.Match[str]) -> str:
    return next((each for each in found.groups() if each), "").strip("\"'<>; ")
