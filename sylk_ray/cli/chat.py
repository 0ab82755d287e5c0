"""``sylk chat``: a conversation with a session, in the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import typer

from sylk_ray.cli.say import Session
from sylk_ray.cli.saying import Listener, listener_of, told, went_well
from sylk_ray.cli.shell import Home, Json, Shell, is_terminal
from sylk_ray.errors import RuntimeNotReachable, SylkError
from sylk_ray.gateway.narration import plain

HISTORY = "chat_history"
REMEMBERED = 1_000
FRESH_S = 5.0
"""How long the names to complete are taken to be the same."""
ENDS = ("/quit", "/exit")


def chat(session: Session = "", home: Home = None, json: Json = False) -> None:
    """Talk with a session. Up and down walk through what was said before; Tab completes @agents, /commands and tasks.

    Ctrl-D or /quit ends the conversation. Lines that are piped in are said one after the other; then --json prints the
    list of what came back, and the exit code is 1 when something could not be done.

    Examples:

      sylk chat

      sylk chat --session tidy-up

      printf '/status\\n/task use_pathlib query how far\\n' | sylk chat --json
    """
    shell = Shell(home, json)
    listener = listener_of(shell.client(), session)
    terminal = is_terminal(sys.stdin) and not json
    if terminal:
        shell.note(f"You speak to {listener.name}. /help tells what can be said; Ctrl-D ends.")
    documents: list[Any] = []
    well = True
    for line in _typed(listener, shell.home) if terminal else _piped():
        try:
            said = listener.say(line)
        except KeyboardInterrupt:
            if not terminal:
                raise
            shell.say("", "the answer is not waited for")
        except SylkError as error:
            well = False
            documents.append({"text": line, "error": {"code": error.code, "message": error.message}})
            if isinstance(error, RuntimeNotReachable) and json:
                shell.document(documents)
                raise typer.Exit(error.exit_code) from None
            if isinstance(error, RuntimeNotReachable):
                raise
            shell.say(*map(plain, [f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]))
        else:
            well = well and went_well(said)
            documents.append({"text": line, **said})
            shell.say(*told(said))
    shell.document(documents)
    if not well and not terminal:
        raise typer.Exit(1)


def _piped() -> Iterator[str]:
    return (line.strip() for line in sys.stdin if line.strip())


def _typed(listener: Listener, home: Path) -> Iterator[str]:
    with _editing(listener, home):
        while True:
            try:
                line = input(f"{listener.name}> ").strip()
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                print()  # the line is thrown away, not the conversation
                continue
            if line in ENDS:
                return
            if line:
                yield line


@contextlib.contextmanager
def _editing(listener: Listener, home: Path) -> Generator[None]:
    """Line editing with a history of its own, where the platform has it."""
    try:
        import readline
    except ImportError:
        yield
        return
    from sylk_ray.cli.completion import completions

    names = _Names(listener)
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            found[:] = completions(line, names.agents, names.tasks)
        return found[state] if state < len(found) else None

    path = home / HISTORY
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            # What is said may be private.
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            readline.set_history_length(REMEMBERED)
            readline.write_history_file(path)


class _Names:
    """What can be completed, asked for again after a while; what cannot be had completes nothing."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._asked = float("-inf")
        self._agents: list[str] = []
        self._tasks: list[str] = []

    @property
    def agents(self) -> list[str]:
        self._look()
        return self._agents

    @property
    def tasks(self) -> list[str]:
        return self._tasks

    def _look(self) -> None:
        if time.monotonic() - self._asked < FRESH_S:
            return
        self._asked = time.monotonic()
        with contextlib.suppress(SylkError):
            self._agents, self._tasks = self._listener.agents(), self._listener.tasks()
