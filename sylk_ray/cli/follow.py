"""Watching a job to its end, on a terminal or in a pipe, and what Ctrl-C means meanwhile."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from sylk_ray.cli.job_view import JobView, live_table
from sylk_ray.cli.shell import Shell, is_terminal, make_console
from sylk_ray.errors import SylkError
from sylk_ray.gateway.narration import narrate, plain
from sylk_ray.messaging import Event
from sylk_ray.sessions import JobRecord

if TYPE_CHECKING:
    from sylk_ray.gateway.client import GatewayClient

FRESH_S = 10.0
"""An event that is older was decided upon, if nobody knows of it."""
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Detached(Exception):
    """The person left; the job goes on."""


class Display(Protocol):
    """Shows a job's events."""

    def show(self, event: Event) -> None:
        """Take one event in."""
        ...


def follow(shell: Shell, client: GatewayClient, job_id: str) -> JobRecord:
    """Show a job until it is over; returns its last record. Raises Detached when the person leaves.

    On a terminal the person is asked what the job asks.

    The first Ctrl-C asks whether to cancel or to leave (in a pipe it cancels), the second cancels; a third, while
    the job is being cancelled, leaves.
    """
    after = interrupts = 0
    view = JobView()
    cancelling = False
    answering = is_terminal(sys.stdin) and not shell.json
    asked: Event | None = None
    while True:
        try:
            if asked is not None:
                event, asked = asked, None
                _ask(shell, client, job_id, event)
            with _display(shell, view) as display:
                for event in client.events(job_id, after):
                    after = max(after, event.sequence)
                    display.show(event)
                    if event.kind == "person.asked" and answering:
                        # Where there is a display, it makes room first.
                        asked = event
                        break
                    if event.kind == "job.finished":
                        return msgspec.convert(event.data["record"], JobRecord)
                else:
                    raise AssertionError("a stream of events ends with job.finished")
        except KeyboardInterrupt:
            interrupts += 1
            if cancelling and interrupts > 2:
                raise Detached from None
            if interrupts == 1 and is_terminal(sys.stdin) and not _wants_cancel(shell):
                raise Detached from None
            cancelling = True
            _cancel(shell, client, job_id)


def _wants_cancel(shell: Shell) -> bool:
    """Ask once. Another Ctrl-C, or the end of the input, means to cancel: the safe reading of a second one."""
    print("\ncancel the job, or leave it running? [c]ancel / [l]eave: ", end="", file=sys.stderr, flush=True)
    try:
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        return True
    if answer.startswith(("l", "d")):
        return False
    shell.note("" if answer else "taken as cancel")
    return True


def _ask(shell: Shell, client: GatewayClient, job_id: str, event: Event) -> None:
    """Ask the person, and tell the job; what cannot be told says so. What was decided long ago is not asked."""
    from sylk_ray.cli.inbox import decide

    data = event.data
    asked = client.get(f"/jobs/{job_id}").get("asking", [])
    # What was asked just now the runtime may not have heard itself.
    if time.time() - event.at > FRESH_S and all(each["id"] != data["id"] for each in asked):
        return
    question = data["asked"] == "question"
    print("", *(plain(line) for line in str(data["text"]).splitlines()), sep="\n", file=sys.stderr)
    prompt = "your answer: " if question else "carry this plan out? [y]es, [n]o, or say what should be different: "
    _forget_typed()
    words = ""
    while not words:
        print(f"\n{prompt}", end="", file=sys.stderr, flush=True)
        said = sys.stdin.readline()
        words = said.strip()
        if not said:
            shell.note(f"\nnot answered; `sylk inbox` shows it ({data['id']})")
            return
    if question:
        decision, text = "answer", words
    elif words.lower().rstrip(".!") in ("y", "yes", "ok", "okay", "approve", "approved"):
        decision, text = "approve", ""
    else:
        decision, text = "deny", "" if words.lower().rstrip(".!") in ("n", "no") else words
    try:
        decide(client, str(data["id"]), decision, text)
    except SylkError as error:
        shell.note(f"that was not taken: {error.message}")


def _forget_typed() -> None:
    """What was typed before the question was no answer to it."""
    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, TypeError):
        return
    except Exception:  # termios.error is no OSError
        return


def _cancel(shell: Shell, client: GatewayClient, job_id: str) -> None:
    shell.note("cancelling the job ...")
    try:
        client.post(f"/jobs/{job_id}/cancel", {"reason": "a person pressed Ctrl-C"}, timeout=60)
    except SylkError as error:
        shell.note(f"it could not be cancelled: {error.message}")


@contextlib.contextmanager
def _display(shell: Shell, view: JobView) -> Generator[Display]:
    if shell.json or not is_terminal(sys.stdout):
        yield Lines(shell)
        return
    from rich.live import Live

    console = make_console()
    frame = Frame(view)
    with Live(get_renderable=frame.table, console=console, refresh_per_second=8, transient=True):
        yield frame


class Lines:
    """A line an event."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def show(self, event: Event) -> None:
        """Print what it means."""
        self._shell.say(*narrate(event))


class Frame:
    """A table that is drawn over."""

    def __init__(self, view: JobView) -> None:
        self._view = view

    def show(self, event: Event) -> None:
        """Change the rows."""
        self._view.apply(event)

    def table(self) -> Any:
        """The table at this moment."""
        return live_table(self._view, SPINNER[int(time.time() * 8) % len(SPINNER)])
