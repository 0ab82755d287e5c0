"""Looking for definitions by their names, and for what uses them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from actors.skills.curating import (
    Answered,
    LibrarianContext,
    found,
    nothing,
    place,
    symbol_line,
    with_bodies,
    within_budget,
)
from sylk_ray.codebase.requests import FileText, FindSymbol, FindUsages, GetFile, SimilarSymbols, Symbols, Usages
from sylk_ray.skills import skill

Kind = Literal["function", "type", "const", "var", "any"]
_KINDS: dict[Kind, Literal["function", "type", "constant", "any"]] = {
    "function": "function",
    "type": "type",
    "const": "constant",
    "var": "constant",
    "any": "any",
}
_NO_SUCH_NAME = "Nothing has this name. search_code finds it by what it does."


@skill(
    domain="codebase", keywords=["find", "where", "locate", "symbol", "function", "type"], tier="core", only_looks=True
)
async def find_symbol(ctx: LibrarianContext, name: str, kind: Kind = "any") -> Answered:
    """Find where a function, type, constant or variable is defined, by its name.

    Args:
        name: Its name, plain or qualified (Parser.parse).
        kind: Only of this kind.
    """
    answer = await ctx.ask(FindSymbol(name=name, root=ctx.root, kind=_KINDS[kind]))
    assert isinstance(answer, Symbols)
    if not answer.symbols:
        return nothing(_NO_SUCH_NAME, answer.near)
    return found(within_budget(map(symbol_line, answer.symbols), "give a qualified name"))


@skill(domain="codebase", keywords=["symbol source", "definition of", "show symbol"], only_looks=True)
async def get_symbol(ctx: LibrarianContext, name: str) -> Answered:
    """Get one definition with its source, and where others of that name are.

    Args:
        name: Its name, plain or qualified (Parser.parse), or path#name.
    """
    answer = await ctx.ask(FindSymbol(name=name, root=ctx.root))
    assert isinstance(answer, Symbols)
    if not answer.symbols:
        return nothing(_NO_SUCH_NAME, answer.near)
    first, *others = answer.symbols
    source = await ctx.ask(
        GetFile(path=first.path, root=ctx.root, start_line=first.start_line, end_line=first.end_line)
    )
    assert isinstance(source, FileText)
    pieces = [(symbol_line(first), source.text), *((symbol_line(each), "") for each in others)]
    return found(with_bodies(pieces, "give a qualified name"))


@skill(domain="codebase", keywords=["similar", "alike", "same as", "duplicate"], only_looks=True)
async def find_similar_symbols(
    ctx: LibrarianContext, symbol: str, limit: Annotated[int, Field(ge=1, le=50)] = 10
) -> Answered:
    """Find definitions that do nearly the same as one does.

    Args:
        symbol: Its name, plain or qualified.
        limit: How many to find.
    """
    answer = await ctx.ask(SimilarSymbols(name=symbol, root=ctx.root, k=limit))
    assert isinstance(answer, Symbols)
    if not answer.symbols:
        return nothing("Nothing is like it, or there is no such name.", answer.near)
    return found(within_budget(map(symbol_line, answer.symbols), "ask for fewer"))


@skill(domain="codebase", keywords=["usages", "references", "callers", "used"], only_looks=True)
async def find_usages(ctx: LibrarianContext, symbol: str) -> Answered:
    """Find all places where a symbol, file or module is called, inherited, imported or named.

    Args:
        symbol: Its name, plain or qualified; or a file's path, or a module from elsewhere.
    """
    answer = await ctx.ask(FindUsages(name=symbol, root=ctx.root))
    assert isinstance(answer, Usages)
    if not answer.usages:
        if answer.definitions:
            where = place(answer.definitions[0].path, answer.definitions[0].start_line, 0)
            return nothing(f"Nothing uses {symbol}, defined in {where}.")
        return nothing(_NO_SUCH_NAME, answer.near)
    several = len({each.of for each in answer.usages}) > 1
    lines = [
        f"{each.path}:{each.line} {each.how}"
        + (f" {each.of}" if several else "")
        + (f" in {each.within}" if each.within else "")
        + (f": {each.text}" if each.text else "")
        for each in answer.usages
    ]
    head = f"{len(lines)} uses" if several else f"{len(lines)} uses of {answer.usages[0].of}"
    return found(within_budget([head, *lines], "give a qualified name"))


NAMING = (find_symbol, get_symbol, find_similar_symbols, find_usages)
