"""A codebase's knowledge: owned by this process, or asked of the one that owns it."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from traceback import clear_frames
from types import TracebackType
from typing import TYPE_CHECKING

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Progressed
from sylk_ray.codebase.serving import addresses, frames
from sylk_ray.codebase.serving.errors import (
    CodebaseClosed,
    CodebaseInUse,
    DirectoryUnusable,
    OwnerLost,
    SocketUnavailable,
)
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.codebase.serving.server import Server, Service, Tell
from sylk_ray.errors import SylkError

if TYPE_CHECKING:
    from sylk_ray.knowledge import KnowledgeBase

log = logging.getLogger("sylk.codebase")

DIRECTORY = "knowledge"
"""Below a state directory."""
PATIENCE_S = 5.0
"""For an owner that does not answer to end."""
QUIET_S = 1.0
"""After which it is looked whether an owner that has not answered yet was stopped."""
_AGAIN_S = 0.05
_TRIES = 5
_IN_USE = "vector_store_in_use"
"""The code of StoreInUse, whose module takes half a second to import."""

Opening = tuple["KnowledgeBase", Service]


def open_codebase(
    home: Path,
    *,
    serve: bool = False,
    patience_s: float = PATIENCE_S,
    own: Callable[[Path], Opening] | None = None,
) -> Codebase:
    """The knowledge below a state directory: as its owner if there is none, else through its owner.

    ``serve``, for who stays: from when this process is the owner, now or when the present one has ended, it answers
    others. ``own`` opens the knowledge base of a directory, and what answers from it. Raises CodebaseInUse when the
    owner neither answers nor ends within ``patience_s``, DirectoryUnusable, SocketUnavailable, and what opening a
    knowledge base raises.
    """
    codebase = Codebase(home / DIRECTORY, own or _own, patience_s, serve=serve)
    connection = codebase.attach()
    if connection is not None:
        connection.close()
    return codebase


class Codebase:
    """Threads may share it. See ``open_codebase``."""

    def __init__(self, directory: Path, own: Callable[[Path], Opening], patience_s: float, *, serve: bool) -> None:
        self.directory = directory
        self._open = own
        self._patience_s = patience_s
        self._serve = serve
        self._guard = threading.Lock()
        self._owned: Opening | None = None
        self._server: Server | None = None
        self._closed = False

    @property
    def is_owner(self) -> bool:
        """Whether this process owns it."""
        return self._owned is not None

    @property
    def base(self) -> KnowledgeBase | None:
        """The knowledge base, if this process owns it."""
        return self._owned[0] if self._owned else None

    def ask(self, request: AnyRequest, progress: Tell | None = None) -> AnyAnswer:
        """The answer. Raises the SylkError that the request led to, OwnerLost when one owner after the other dies,
        CodebaseInUse, and what opening a knowledge base raises.

        If the owner dies while it is at work the request is made again, of the next one or by this process: no request
        does more when it is made twice.
        """
        for _ in range(_TRIES):
            connection = self.attach()
            owned = self._owned
            if connection is not None:
                with connection:
                    try:
                        return _asked(connection, request, progress, self.directory)
                    except _Lost:
                        continue
            elif owned is not None:
                return owned[1].handle(request, progress)
        raise OwnerLost(
            f"the owner of {self.directory} has died {_TRIES} times while it was asked",
            hint="see what its last lines say",
        )

    def attach(self) -> socket.socket | None:
        """A connection to the owner; None when that is this process, from now on at the latest. Raises as
        ``open_codebase``."""
        until = time.monotonic() + self._patience_s
        while self._owned is None:
            if self._closed:
                raise _closed(self.directory)
            try:
                connection = addresses.connect(self.directory)
            except OSError as problem:
                raise _unusable(self.directory, problem) from problem
            if connection is not None:
                return connection
            try:
                self._become_owner()
            except SylkError as problem:
                if problem.code != _IN_USE:
                    raise
                if time.monotonic() >= until:
                    raise CodebaseInUse(
                        problem.message, hint="it does not answer others: wait until it has ended, or end it"
                    ) from problem
                time.sleep(_AGAIN_S)
        return None

    def close(self) -> None:
        """Answer what others have asked, and let go of it. More than once is once."""
        with self._guard:
            owned, server, self._owned, self._server = self._owned, self._server, None, None
            self._closed = True
            if server is not None:
                server.close()
            if owned is not None:
                owned[0].close()

    def __enter__(self) -> Codebase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and not isinstance(error, Exception):
            # An interruption within contextlib leaves a generator with its transaction and its locks, for as long as a
            # frame has it.
            clear_frames(at)
        try:
            self.close()
        except Exception as further:
            # What went wrong first is what is told, an interruption as well. What was not brought to the disk is
            # brought there when it is opened next.
            if error is None:
                raise
            log.warning("%s could not be closed in order: %s", self.directory, further)

    def _become_owner(self) -> None:
        with self._guard:
            if self._closed:
                raise _closed(self.directory)
            if self._owned is not None:
                return
            try:
                owned = self._open(self.directory)
            except OSError as problem:
                raise _unusable(self.directory, problem) from problem
            if self._serve:
                try:
                    self._server = Server(owned[1], self.directory)
                except OSError as problem:
                    owned[0].close()
                    raise SocketUnavailable(
                        f"others cannot be answered in {self.directory}: {problem.strerror or problem}",
                        hint="it must be a folder of this user, on a disk that has sockets",
                    ) from problem
            self._owned = owned


def _closed(directory: Path) -> CodebaseClosed:
    return CodebaseClosed(f"{directory} was closed", hint="open it again")


def _unusable(directory: Path, problem: OSError) -> DirectoryUnusable:
    return DirectoryUnusable(
        f"what is known cannot be kept in {directory}: {problem.strerror or problem}",
        hint="it must be a folder that this user may write to",
    )


def _own(directory: Path) -> Opening:
    # Who asks another process needs none of this, and it takes long to import.
    from sylk_ray.codebase.service import CodeService
    from sylk_ray.knowledge.configured import open_knowledge

    base = open_knowledge(directory.parent)
    return base, CodeService(base)


class _Lost(Exception):
    """The owner is gone."""


def _asked(connection: socket.socket, request: AnyRequest, progress: Tell | None, directory: Path) -> AnyAnswer:
    for reply in _replies(connection, request, directory):
        match reply:
            case Progressed():
                if progress is not None:
                    progress(reply)
            case Failed():
                raise reply.error()
            case _:
                return reply
    raise _Lost


def _replies(connection: socket.socket, request: AnyRequest, directory: Path) -> Generator[frames.AnyReply]:
    try:
        frames.send(connection, frames.encode(request))
        coming = select.poll()
        coming.register(connection, select.POLLIN)
        while True:
            while not coming.poll(QUIET_S * 1000):
                _check_it_runs(connection, directory)
            content = frames.receive(connection, frames.LONGEST_ANSWER)
            if content is None:
                return
            yield frames.reply_of(content)
    except ConnectionError as problem:
        raise _Lost from problem


def _check_it_runs(connection: socket.socket, directory: Path) -> None:
    """Raises CodebaseInUse when the owner was stopped, as by Ctrl-Z: it may never answer."""
    process = addresses.stopped(connection)
    if process:
        raise CodebaseInUse(
            f"process {process}, which owns {directory}, is stopped",
            hint=f"let it go on (fg, or kill -CONT {process}), or end it",
        )
