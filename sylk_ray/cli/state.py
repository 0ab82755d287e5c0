"""``runtime.json``: what the CLI must know of the runtime that it started, beyond what the gateway tells."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec

from sylk_ray.home import make_home
from sylk_ray.sessions.directories import write_atomically


class RuntimeState(msgspec.Struct, frozen=True):
    """A local runtime. ``dashboard_url`` is empty when it has no Ray dashboard; ``started_at`` is Unix time.

    ``incarnation`` tells this start from earlier ones, whose sessions are resumed and not just found again.
    """

    address: str
    dashboard_url: str
    gateway_url: str
    head_pid: int
    started_at: float
    density: str
    version: str
    incarnation: str = ""


def state_path(home: Path) -> Path:
    """Where the state is kept."""
    return home / "runtime.json"


def read_state(home: Path) -> RuntimeState | None:
    """What was written down, whether it is still true or not; None when there is nothing that can be read."""
    try:
        return msgspec.json.decode(state_path(home).read_bytes(), type=RuntimeState)
    except (OSError, msgspec.MsgspecError):
        return None


def write_state(home: Path, state: RuntimeState) -> None:
    """Write down a runtime that answers."""
    write_atomically(state_path(home), msgspec.json.format(msgspec.json.encode(state)) + b"\n")


@contextlib.contextmanager
def one_at_a_time(home: Path, tell: Callable[[str], None]) -> Generator[None]:
    """Starting and ending a runtime exclude each other; the lock goes with the process that holds it."""
    make_home(home)
    with (home / "up.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another sylk that starts or ends this runtime ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
