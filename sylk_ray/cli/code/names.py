"""``sylk symbol`` and ``sylk usages``: what is called something, and where it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sylk_ray.cli.code.asking import Refresh, Repo, looked_up, root_of
from sylk_ray.cli.shell import Home, Json, Shell, decoded, escaped
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.codebase.requests import SymbolFound

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", callback=decoded, help="A name, or a qualified one: Parser.parse, src/a.py#main."),
]


class NoSuchName(InputError):
    """Nothing is called that."""

    code = "no_such_name"


def symbol(
    name: Name,
    kind: Annotated[Literal["function", "type", "constant", "any"], typer.Option("--kind")] = "any",
    repo: Repo = Path(),
    refresh: Refresh = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show where a function, type or constant is defined.

    Examples:

      sylk symbol Parser.parse

      sylk symbol main --kind function --json
    """
    from sylk_ray.codebase.requests import FindSymbol, Symbols

    shell = Shell(home, json)
    root = root_of(repo)
    found = looked_up(shell, root, FindSymbol(name=name, root=str(root), kind=kind), Symbols, refresh=refresh)
    if not found.symbols:
        raise nothing_called(name, found.near, root)
    shell.document(found)
    if not json:
        for each in found.symbols:
            shell.say(_line(each))


def usages(
    name: Name,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 100,
    repo: Repo = Path(),
    refresh: Refresh = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show where a definition, a file or an imported module is used, the surest places first.

    Uses are found by static reading, through imports; each says how sure it is.

    Examples:

      sylk usages Parser.parse

      sylk usages requests
    """
    from sylk_ray.codebase.requests import FindUsages, Usages

    shell = Shell(home, json)
    root = root_of(repo)
    found = looked_up(shell, root, FindUsages(name=name, root=str(root), limit=limit), Usages, refresh=refresh)
    if not found.definitions:
        raise nothing_called(name, found.near, root)
    shell.document(found)
    if not json:
        for each in found.definitions:
            shell.say(_line(each))
        shell.say(f"{len(found.usages)} uses" if found.usages else "no use of it was found")
        for usage in found.usages:
            within = f" in {usage.within}" if usage.within else ""
            told = f"  {usage.path}:{usage.line}  {usage.how}{within}  {usage.confidence:.2f}  {usage.text}"
            shell.say(escaped(told.rstrip()))


def nothing_called(name: str, near: list[str], root: Path) -> NoSuchName:
    """What to raise when nothing has a name."""
    hint = f"Did you mean {' or '.join(near[:3])}?" if near else f'Describe it: sylk search "{name}"'
    return NoSuchName(f"nothing in {root} is called {name!r}", hint=hint)


def _line(found: SymbolFound) -> str:
    where = f"{found.path}:{found.start_line}-{found.end_line}" if found.path else found.symbol
    return escaped(f"{where}  {found.kind}  {found.signature or found.symbol}".rstrip())
