"""``sylk index``: make a repository's code known, and keep it so."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylk_ray.cli.code.asking import Asking, asking, in_utf8, looking_at, root_of
from sylk_ray.cli.shell import Home, Json, Shell, escaped
from sylk_ray.errors import InputError, SylkError
from sylk_ray.home import expanded

if TYPE_CHECKING:
    from sylk_ray.codebase.requests import Indexed


class OneThingAtATime(InputError):
    """Options that do not go together."""

    code = "one_thing_at_a_time"


def index(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="A repository, or any folder.")] = Path(),
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and take in every change as it happens.")] = False,
    explain: Annotated[
        Path | None, typer.Option("--explain", metavar="FILE", help="Say whether a file is indexed, and why not.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Drop all that is known of it.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Index a repository's code: its definitions, what they use, and what they mean. Again, only what has changed.

    Files that .gitignore names, binary, generated, minified and huge ones, and dependencies are left out. It works
    without a runtime, and can be searched while it runs.

    Examples:

      sylk index

      sylk index ~/src/app --watch

      sylk index --explain build/out.js
    """
    from sylk_ray.codebase import requests as of

    shell = Shell(home, json)
    if sum((watch, explain is not None, forget)) > 1:
        raise OneThingAtATime(
            "--watch, --explain and --forget are three different things", hint="Give one of them at a time."
        )
    with looking_at(explain or path):
        if forget and not path.exists():
            root = in_utf8(expanded(path).absolute())
        elif explain and path == Path() and explain.parent.is_dir():
            root = root_of(explain.absolute().parent)
        else:
            root = root_of(path)
    with asking(shell, None if explain or forget else root) as code:
        if explain is not None:
            # Links above it are followed; a link itself is what is explained.
            asked = str(in_utf8(explain.absolute().parent.resolve() / explain.name))
            told = code.ask(of.Explain(path=asked, root=str(root)), of.Explained)
            shell.document(told)
            if not json:
                verdict = "indexed" if told.counts else f"left out: {told.reason}"
                shell.say(escaped(f"{explain}: {verdict}" + (f" ({told.rule})" if told.rule else "")))
            return
        if forget:
            # Also of a folder that is not there any more.
            gone = code.ask(of.Forget(root=str(root)), of.Forgotten)
            shell.document(gone)
            if not json:
                shell.say(escaped(f"{root}: forgotten, {gone.nodes} nodes"))
            return
        if not watch:
            # What little of it would be collected goes with the process.
            gc.disable()
        done = code.index(root)
        if not watch:
            shell.document(done)
            if not json:
                _tell(shell, done)
            return
        shell.note(escaped(f"watching {root}; Ctrl-C ends it"))
        import asyncio

        asyncio.run(_watch(shell, code, root))


def _tell(shell: Shell, done: Indexed) -> None:
    changed = f"{done.added} added, {done.changed} changed, {done.removed} removed"
    read = f"{done.files} files ({changed}; {done.symbols} definitions read) in {done.seconds:.1f} s"
    shell.say(escaped(f"{done.root}: {read}"))
    if done.broken:
        named = ", ".join(done.broken[:5]) + (" …" if len(done.broken) > 5 else "")
        shell.note(escaped(f"parsed in part only: {named}"))


async def _watch(shell: Shell, code: Asking, root: Path) -> None:
    """Until Ctrl-C; a line for each batch of changes, which with --json is a document."""
    import asyncio
    import signal

    import msgspec

    from sylk_ray.codebase.following import Watcher

    stop = asyncio.Event()
    for end in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(end, stop.set)

    def report(outcome: Indexed | SylkError) -> None:
        if isinstance(outcome, SylkError):
            shell.note(escaped(f"error: {outcome.message}" + (f"; {outcome.hint}" if outcome.hint else "")))
        elif shell.json:
            print(msgspec.json.encode(outcome).decode(), flush=True)
        elif outcome.added or outcome.changed or outcome.removed:
            _tell(shell, outcome)

    await Watcher(code.codebase.ask, root, report=report).run(stop)
