"""What a command prints through: lines and tables for people, or one JSON document for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import msgspec
import typer

from sylk_ray.errors import InputError, SylkError
from sylk_ray.home import SETTINGS, default_home, expanded

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from sylk_ray.gateway.client import GatewayClient

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, errors too.")]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="The state directory; each has a runtime of its own. [env var: SYLK_HOME]"),
]
PIPE_WIDTH = 400
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""All of C0 and C1 but the tab."""


class HomeUnreachable(InputError):
    """The state directory is where this user cannot get."""

    code = "home_unreachable"


class Shell:
    """One command's place in the world: its state directory, and where its words go.

    With ``--json`` standard output carries the document alone, and lines for people go to standard error.
    """

    def __init__(self, home: Path | None = None, json: bool = False) -> None:
        self.home = expanded(home).absolute() if home else default_home()
        self.json = json
        _check(self.home)
        # What the command starts, and the settings that it reads, must mean the same directory.
        os.environ["SYLK_HOME"] = str(self.home)

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees the lines, or colours are wanted all the same (``FORCE_COLOR``)."""
        return is_terminal(self._stream()) or bool(os.environ.get("FORCE_COLOR"))

    def say(self, *lines: str) -> None:
        """Lines that are the answer."""
        for line in lines:
            write_line(line, self._stream())

    def note(self, line: str) -> None:
        """A line about what is going on, beside the answer."""
        write_line(line, sys.stderr)

    def show(self, thing: RenderableType) -> None:
        """A table, for people."""
        if self._stream():
            make_console(stderr=self.json).print(thing)

    def document(self, value: object) -> None:
        """The answer for programs; nothing when a person asked."""
        if self.json:
            print_document(msgspec.to_builtins(value))

    def _stream(self) -> TextIO | None:
        return sys.stderr if self.json else sys.stdout

    def client(self) -> GatewayClient:
        """The runtime of this state directory; raises RuntimeNotReachable when none is announced."""
        from sylk_ray.gateway.client import GatewayClient

        return GatewayClient(self.home)


def _check(home: Path) -> None:
    """That it can be looked into, if it is there. Raises HomeUnreachable."""
    try:
        (home / SETTINGS).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # it is made where it is needed; what cannot be kept in a file is told there
    except OSError as problem:
        raise HomeUnreachable(
            f"the state directory {home} cannot be reached: {problem.strerror}",
            hint="Name a folder that this user may read and write, with --home or SYLK_HOME.",
        ) from problem


def user_name() -> str:
    """Whose foreground session is meant: the operating system's user."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have a user without a name
        return str(os.getuid())


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is there; not where the stream was closed before Python began, which makes it None."""
    return stream is not None and stream.isatty()


def write_line(line: str, stream: TextIO | None) -> None:
    """At once, and so that it cannot command a terminal, whoever it is from; nowhere if the stream is None, which
    ``print`` takes for standard output."""
    if stream is not None:
        print("\n".join(map(escaped, line.replace("\r\n", "\n").split("\n"))), file=stream, flush=True)


def make_console(*, stderr: bool = False) -> Console:
    """A console that does not squeeze tables into 80 columns when nobody looks."""
    from rich.console import Console

    terminal = is_terminal(sys.stderr if stderr else sys.stdout)
    return Console(stderr=stderr, highlight=False, width=None if terminal else PIPE_WIDTH)


def print_document(value: object) -> None:
    """What ``--json`` prints: UTF-8, or ASCII where the output has no letters for it. Raises OSError."""
    try:
        print(decoded(json.dumps(value, indent=2, ensure_ascii=False)), flush=True)
    except UnicodeEncodeError:
        print(json.dumps(value, indent=2), flush=True)


def decoded(text: str) -> str:
    """Text of the command line, without the surrogates that Python puts for what is no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def escaped(text: str) -> str:
    """On one line, whatever it was on: control characters but tabs are shown by their escapes."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def error_document(error: SylkError) -> dict[str, Any]:
    """An error as ``--json`` prints it."""
    told: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    problems: Any = getattr(error, "problems", ())
    if problems:
        told["problems"] = msgspec.to_builtins(list(problems))
    return {"error": told}
