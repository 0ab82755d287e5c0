"""``sylk knowledge``: how much is known, and whether it is whole."""

from __future__ import annotations

from typing import Annotated

import typer

from sylk_ray.cli.code.asking import asking
from sylk_ray.cli.shell import Home, Json, Shell, escaped
from sylk_ray.errors import SylkError

app = typer.Typer(no_args_is_help=True, help="Look after what is known of repositories.", rich_markup_mode=None)


class NotWhole(SylkError):
    """Parts of the knowledge do not agree."""

    code = "knowledge_not_whole"


@app.command("stats")
def stats(home: Home = None, json: Json = False) -> None:
    """Show how much is known of which repositories, and what it costs on the disk."""
    from sylk_ray.codebase.requests import Stats, StatsAnswer

    shell = Shell(home, json)
    with asking(shell) as code:
        found = code.ask(Stats(), StatsAnswer)
    shell.document(found)
    if json:
        return
    for root, nodes in found.roots.items():
        shell.say(escaped(f"{root}: {nodes:,} nodes"))
    if not found.roots:
        shell.say("nothing is known yet; sylk index makes a repository known")
    for domain, types in found.nodes.items():
        shell.say(f"{domain}: " + ", ".join(f"{count:,} {name}" for name, count in types.items()))
    if found.edges:
        shell.say("edges: " + ", ".join(f"{count:,} {name}" for name, count in found.edges.items()))
    size = ", ".join(f"{part} {count / 1e6:,.1f} MB" for part, count in found.bytes.items())
    shell.say(f"on the disk: {size}; embedder: {found.embedder}")


@app.command("vacuum")
def vacuum(home: Home = None, json: Json = False) -> None:
    """Give back the room of what was deleted, and build the indexes that large repositories are searched by."""
    from sylk_ray.codebase.requests import Vacuum, Vacuumed

    shell = Shell(home, json)
    with asking(shell) as code:
        done = code.ask(Vacuum(), Vacuumed)
    shell.document(done)
    if not json:
        shell.say(f"{done.before / 1e6:,.1f} MB before, {done.after / 1e6:,.1f} MB after")


@app.command("verify")
def verify(
    mend: Annotated[bool, typer.Option("--mend", help="Make them agree again.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Check that nodes, edges and vectors agree. Exit code 1 if they do not, and are not mended."""
    from sylk_ray.codebase.requests import Verified, Verify

    shell = Shell(home, json)
    with asking(shell) as code:
        found = code.ask(Verify(mend=mend), Verified)
    if not found.well:
        raise NotWhole("; ".join(found.problems), hint="Mend it: sylk knowledge verify --mend")
    shell.document(found)
    if not json:
        shell.say(f"mended: {found.mended} vectors made or removed" if found.mended else "all parts agree")
        for problem in found.problems:
            shell.say(escaped(f"  {problem}"))
