"""The socket of a directory, however long the directory's path is.

A unix socket's address has room for 107 bytes. A longer one is said by way of the directory's descriptor, which Linux
shows as ``/proc/self/fd/N``.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "socket"
LONGEST = 107
_PEER = struct.Struct("3i")


@contextmanager
def address_of(directory: Path) -> Generator[str]:
    """What to bind or connect to, within. Raises FileNotFoundError for a long path without its directory."""
    whole = directory / SOCKET
    if len(os.fsencode(whole)) <= LONGEST:
        yield str(whole)
        return
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def listen(directory: Path) -> socket.socket:
    """Listen there, as the owner of the directory: a socket that is there is of an owner that has died.

    Nobody but the user gets at it: the directory is for the user alone, and so is the socket. Raises OSError.
    """
    directory.chmod(0o700)
    (directory / SOCKET).unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address_of(directory) as address:
            made.bind(address)
        (directory / SOCKET).chmod(0o600)
        made.listen(64)
    except BaseException:
        made.close()
        raise
    return made


def connect(directory: Path) -> socket.socket | None:
    """To the owner; None if there is none that listens. Raises OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address_of(directory) as address:
            made.connect(address)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        made.close()
        return None
    except BaseException:
        made.close()
        raise
    return made


def stopped(connection: socket.socket) -> int:
    """The process at the other end, if it was stopped (SIGSTOP, SIGTSTP); 0 if it runs, or where none can tell."""
    try:
        process, _, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        state = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, AttributeError, IndexError):
        return 0
    return process if state in ("T", "t") else 0
