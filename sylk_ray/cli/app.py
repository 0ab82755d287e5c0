"""All commands put together, and how any error becomes a line and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from sylk_ray import __version__
from sylk_ray.cli.commands import add_commands, wanted_by
from sylk_ray.cli.shell import Home, Json, error_document, print_document, write_line
from sylk_ray.errors import InputError, SylkError
from sylk_ray.home import default_home, expanded, make_home

EXIT_INTERRUPTED = 130
_HELP = """Runs teams of coding agents on git repositories.

A job file says what to do; `sylk submit` runs it and leaves a branch of reviewed and tested commits.
"""


class UsageWrong(InputError):
    """The command line is not of the form that the command wants."""

    code = "usage"


class Unforeseen(SylkError):
    """A fault of ours."""

    code = "unforeseen"


class Interrupted(SylkError):
    """Ctrl-C, or SIGTERM."""

    code = "interrupted"
    exit_code = EXIT_INTERRUPTED


def _version_asked(asked: bool) -> None:
    if asked:
        print(f"sylk {__version__}")
        raise typer.Exit


def _sylk(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version_asked, is_eager=True, help="Print the version and exit.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Runs teams of coding agents on git repositories."""

    context.default_map = _defaults(context.command, {"home": home, "json": json})


def _defaults(command: object, given: dict[str, Any]) -> dict[str, Any]:
    """What was given before the command holds for it, and for the commands of a group."""
    beneath: dict[str, object] = getattr(command, "commands", {})
    return {name: _defaults(each, given) for name, each in beneath.items()} or given


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The commands that a command line can mean."""
    app = typer.Typer(
        name="sylk",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=_HELP,
    )
    app.callback()(_sylk)
    add_commands(app, wanted_by(arguments))
    return app


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command line. Never raises, and never shows a traceback."""
    try:
        code = _outcome(arguments)
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _write_no_more(sys.stdout)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _write_no_more(sys.stdout)
        return 1
    except OSError as problem:
        _write_no_more(sys.stdout)
        _tell(f"error: the output cannot be written: {problem.strerror}")
        return 1
    except SystemExit as left:  # typer's, where nobody reads the output; what waits is written at the end if it can be
        return left.code if isinstance(left.code, int) else 1
    return code


def _outcome(arguments: Sequence[str]) -> int:
    """Raises KeyboardInterrupt, and OSError where standard output cannot be written to."""
    wants_json = "--json" in arguments
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app_for(arguments)(list(arguments), standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer's, in place of KeyboardInterrupt
            return _report(Interrupted("interrupted"), wants_json)
        return code if isinstance(code, int) else 0
    except SylkError as error:
        return _report(error, wants_json)
    except (KeyboardInterrupt, typer.Abort):
        return _report(Interrupted("interrupted"), wants_json)
    except typer.Exit as done:
        return done.exit_code
    except Exception as problem:
        if hasattr(problem, "format_message"):  # typer's usage errors, whose base is not the same in all its versions
            return _misused(problem, wants_json)
        if isinstance(problem, OSError) and sys.stdout:
            sys.stdout.flush()  # raises again if this is what could not be written
        return _report(_logged(problem, arguments), wants_json)


def _write_no_more(stream: TextIO | None) -> None:
    """What waits to be written is forgotten: nobody reads it, or it has no room."""
    if stream:  # None where it was closed from the start.
        with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


def _tell(*lines: str) -> None:
    """On standard error, if that can be written."""
    try:
        for line in lines:
            write_line(line, sys.stderr)
    except OSError:
        _write_no_more(sys.stderr)


def _report(error: SylkError, wants_json: bool) -> int:
    if wants_json:
        try:
            print_document(error_document(error))
            return error.exit_code
        except BrokenPipeError:
            raise
        except OSError:
            _write_no_more(sys.stdout)
    # The problems of a job file each begin with file:line:column, where editors look for it.
    prefix = "" if error.code in ("job_problems", Interrupted.code) else "error: "
    _tell(f"{prefix}{error.message}", *([f"hint: {error.hint}"] if error.hint else []))
    return error.exit_code


def _misused(problem: Exception, wants_json: bool) -> int:
    """Of a usage error of typer's. That no command was given is one too, whose message is the help."""
    message: str = getattr(problem, "format_message")().rstrip(".")  # noqa: B009
    if type(problem).__name__ == "NoArgsIsHelpError":
        if not wants_json:
            write_line(message, sys.stderr)
            return UsageWrong.exit_code
        message = "missing command"
    context = getattr(problem, "ctx", None)
    command = context.command_path if context is not None else "sylk"
    return _report(UsageWrong(message[:1].lower() + message[1:], hint=f"see `{command} --help`"), wants_json)


def _logged(problem: Exception, arguments: Sequence[str]) -> Unforeseen:
    import traceback

    try:
        home = _home_in(arguments)
        make_home(home)
        log = home / "logs" / "cli.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            told = "".join(traceback.format_exception(problem))
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} sylk {' '.join(arguments)}\n{told}\n")
        where = f"the traceback is in {log}"
    except Exception as unwritable:  # whatever it is, it is not what went wrong
        where = f"the traceback could not be kept: {unwritable}"
    return Unforeseen(f"{type(problem).__name__}: {problem}".splitlines()[0], hint=where)


def _home_in(arguments: Sequence[str]) -> Path:
    for place, argument in enumerate(arguments):
        if argument == "--home" and place + 1 < len(arguments):
            return expanded(Path(arguments[place + 1]))
        if argument.startswith("--home="):
            return expanded(Path(argument[7:]))
    return default_home()
