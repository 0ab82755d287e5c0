"""A read file as nodes: itself, its definitions and parts."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import msgspec

from sylk_ray.codebase.chunks import Chunk, cut, stands_alone
from sylk_ray.codebase.outline import Outline, Symbol, SymbolKind
from sylk_ray.codebase.roles import Role, role_of
from sylk_ray.knowledge.encoding import ALSO_MEANT
from sylk_ray.knowledge.model import Domain, Node, NodeType
from sylk_ray.knowledge.words import identifiers

_TYPES = {
    SymbolKind.FUNCTION: NodeType.FUNCTION,
    SymbolKind.METHOD: NodeType.FUNCTION,
    SymbolKind.TYPE: NodeType.TYPE,
    SymbolKind.MODULE: NodeType.PACKAGE,
    SymbolKind.CONSTANT: NodeType.CONSTANT,
}
_ESCAPES = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "%#@!~"})
_DOC = 600
"""Characters of its documentation that a file is found by."""
_NAMES = 200
"""Definitions that a file is found by."""
_SAID = 200
"""Words and names, those that it says most often, that a file as a whole means."""


class FileNodes(msgspec.Struct, frozen=True):
    """The nodes of one file."""

    searched: list[Node]
    """Found by meaning and words: the file, and each chunk."""
    named: list[Node]
    """Found by name alone: small constants."""


@lru_cache(maxsize=1 << 13)
def file_id(scope: str, path: str) -> str:
    """The id of a file's node."""
    return f"{scope}!{_escaped(path)}"


def _escaped(path: str) -> str:
    """A path without the marks that ids are made with."""
    return path.translate(_ESCAPES)


def symbol_id(scope: str, path: str, qualified: str) -> str:
    """The id of a definition's node; of the first one, where a file has several that are called the same."""
    return f"{file_id(scope, path)}#{qualified}"


def package_id(scope: str, folder: str) -> str:
    """The id of a folder that holds code."""
    return f"{scope}!{folder}/"


def external_id(scope: str, module: str) -> str:
    """The id of a module that is imported from elsewhere."""
    return f"{scope}!!{module}"


def nodes_of(scope: str, outline: Outline, text: str) -> FileNodes:
    """All nodes of a file. Their ids stay the same as long as the definitions are called the same."""
    file = file_id(scope, outline.path)
    role = role_of(outline.path, outline.language)
    common: dict[str, object] = {"language": outline.language, "role": role.value, "tests": role is Role.TEST}
    if outline.declares:
        common["declares"] = True
    searched = [_file(scope, file, outline, text, common)]
    named: list[Node] = []
    taken: set[str] = set()
    by_symbol: dict[int, str] = {}

    def unique(wanted: str) -> str:
        number, found = 1, wanted
        while found in taken:
            number += 1
            found = f"{wanted}~{number}"
        taken.add(found)
        return found

    for number, symbol in enumerate(outline.symbols):
        by_symbol[number] = unique(symbol_id(scope, outline.path, symbol.qualified))
        if not stands_alone(symbol):
            named.append(_symbol(scope, by_symbol[number], outline.path, symbol, symbol.signature, common))
    described: set[int] = set()
    for chunk in cut(outline, text):
        if chunk.symbol is not None and chunk.first:
            symbol = outline.symbols[chunk.symbol]
            described.add(chunk.symbol)
            searched.append(_symbol(scope, by_symbol[chunk.symbol], outline.path, symbol, chunk.text, common))
        else:
            searched.append(_section(scope, unique(f"{file}@{chunk.title}"), outline, chunk, common))
    for number, symbol in enumerate(outline.symbols):
        if stands_alone(symbol) and number not in described:
            named.append(_symbol(scope, by_symbol[number], outline.path, symbol, symbol.signature, common))
    return FileNodes(searched, named)


def of_a_file(outline: Outline) -> str:
    """What a file is found by: what it says of itself, defines and imports."""
    names = [symbol.qualified for symbol in outline.symbols][:_NAMES]
    modules = dict.fromkeys(each.module for each in outline.imports)
    return "\n".join([outline.doc[:_DOC], " ".join(names), " ".join(modules)]).strip()


def spoken_of(text: str) -> str:
    """What a file speaks of most: this counts for what it means, and not for its words."""
    # Counted here and forgotten: nobody asks for a whole file's again.
    counted = Counter(identifiers(text))
    # As ``most_common``, which takes longer for so many.
    return " ".join(sorted(counted, key=counted.__getitem__, reverse=True)[:_SAID])


def _file(scope: str, id: str, outline: Outline, text: str, common: dict[str, object]) -> Node:
    return Node(
        id=id,
        domain=Domain.CODE,
        type=NodeType.FILE,
        scope=scope,
        name=outline.path.rsplit("/", 1)[-1],
        path=outline.path,
        content=of_a_file(outline),
        metadata=common
        | {"start": 1, "end": max(outline.lines, 1), "doc": outline.doc[:200], ALSO_MEANT: spoken_of(text)},
    )


def _symbol(scope: str, id: str, path: str, symbol: Symbol, content: str, common: dict[str, object]) -> Node:
    return Node(
        id=id,
        domain=Domain.CODE,
        type=_TYPES[symbol.kind],
        scope=scope,
        name=symbol.name,
        path=path,
        content=content,
        metadata=common
        | {
            "qualified": symbol.qualified,
            "kind": symbol.kind.value,
            "start": symbol.start_line,
            "end": symbol.end_line,
            "signature": symbol.signature,
            "exported": symbol.exported,
        },
    )


def _section(scope: str, id: str, outline: Outline, chunk: Chunk, common: dict[str, object]) -> Node:
    more: dict[str, object] = {"start": chunk.start_line, "end": chunk.end_line}
    if chunk.symbol is not None:
        more |= {"qualified": outline.symbols[chunk.symbol].qualified, "part": True}
    return Node(
        id=id,
        domain=Domain.CODE,
        type=NodeType.SECTION,
        scope=scope,
        name=chunk.title.rsplit(" > ", 1)[-1],
        path=outline.path,
        content=chunk.text,
        metadata=common | more,
    )
