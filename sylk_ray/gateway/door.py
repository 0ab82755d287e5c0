"""Where the gateway listens and what opens it: ``gateway.json`` and ``token`` in the state directory."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import msgspec

from sylk_ray.errors import RuntimeNotReachable
from sylk_ray.home import make_home
from sylk_ray.sessions.directories import write_atomically


class Door(msgspec.Struct, frozen=True):
    """What a listening gateway writes down. ``started_at`` is Unix time in seconds."""

    url: str
    pid: int
    version: str
    started_at: float = 0.0


def door_path(home: Path) -> Path:
    """Where the gateway writes where it is."""
    return home / "gateway.json"


def announce(home: Path, door: Door) -> None:
    """Say where the gateway listens; it does when this is called."""
    write_atomically(door_path(home), msgspec.json.encode(door))


def withdraw(home: Path, pid: int) -> None:
    """The gateway of that process listens no more; another's announcement stays."""
    door = find_door(home)
    if door is not None and door.pid == pid:
        door_path(home).unlink(missing_ok=True)


def find_door(home: Path) -> Door | None:
    """The announced gateway, whether it lives or not."""
    try:
        return msgspec.json.decode(door_path(home).read_bytes(), type=Door)
    except (OSError, msgspec.MsgspecError):
        return None


def token_path(home: Path) -> Path:
    """The file with the gateway's bearer token."""
    return home / "token"


def ensure_token(home: Path) -> str:
    """The token, made on first use with mode 0600; whoever may read the file may use the runtime."""
    path = token_path(home)
    make_home(home)
    temporary = path.with_name(f".token.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        # A link, because it fails when another was quicker, and the file is never seen without its content.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
        temporary.unlink()
    return read_token(home)


def read_token(home: Path) -> str:
    """The token; raises RuntimeNotReachable when there is none or it may not be read."""
    try:
        token = token_path(home).read_text().strip()
    except OSError as problem:
        raise RuntimeNotReachable(
            f"the token {token_path(home)} cannot be read: {problem.strerror}", hint="start a runtime with `sylk up`"
        ) from problem
    if not token:
        raise RuntimeNotReachable(f"the token {token_path(home)} is empty", hint="remove it, then `sylk down` and up")
    return token
