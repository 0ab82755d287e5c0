"""The owner's side: requests of other processes, each answered in a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Progressed
from sylk_ray.codebase.serving import addresses, frames
from sylk_ray.codebase.serving.errors import AnswerTooLarge, MalformedFrame
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.errors import SylkError

log = logging.getLogger("sylk.codebase")

IDLE_S = 60.0
"""After which a connection without a request is ended."""
AT_ONCE = 64
"""Connections; the next one waits."""

Tell = Callable[[Progressed], None]


class Service(Protocol):
    """What answers. Threads share it."""

    def handle(self, request: AnyRequest, progress: Tell | None = None) -> AnyAnswer:
        """The answer. Raises a SylkError."""
        ...


class Server:
    """Listens in a directory that this process owns, from its creation until ``close``. Raises OSError.

    A request that was begun is carried out, whether or not who asked is still there.
    """

    def __init__(self, service: Service, directory: Path) -> None:
        self._service = service
        self._directory = directory
        self._listening = addresses.listen(directory)
        self._room = threading.Semaphore(AT_ONCE)
        self._guard = threading.Lock()
        self._waiting: set[socket.socket] = set()
        """Connections without a request."""
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._accepting = threading.Thread(target=self._accept, name="codebase", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Answer what was asked, and no more. More than once is once."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            waiting = list(self._waiting)
        (self._directory / addresses.SOCKET).unlink(missing_ok=True)
        _end(self._listening)
        self._accepting.join()
        for connection in waiting:
            _end(connection)
        for thread in list(self._threads):
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            self._room.acquire()
            try:
                connection, _ = self._listening.accept()
            except OSError as problem:
                self._room.release()
                if self._closed:
                    return
                log.warning("a connection could not be accepted: %s", problem)
                # No descriptor is free, for example: not at once again.
                threading.Event().wait(0.1)
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="codebase-request", daemon=True)
            with self._guard:
                self._threads.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(IDLE_S)
                client = _Client(connection)
                while not client.gone and (content := self._next(connection)) is not None:
                    self._answer(client, content)
        except OSError:
            pass
        finally:
            self._room.release()
            with self._guard:
                self._threads.discard(threading.current_thread())

    def _next(self, connection: socket.socket) -> bytes | None:
        with self._guard:
            if self._closed:
                return None
            self._waiting.add(connection)
        try:
            return frames.receive(connection, frames.LONGEST_REQUEST)
        except MalformedFrame as problem:
            # Where the next frame begins is not known.
            _Client(connection).send(Failed.of(problem))
            return None
        finally:
            with self._guard:
                self._waiting.discard(connection)

    def _answer(self, client: _Client, content: bytes) -> None:
        reply: AnyAnswer | Failed
        try:
            reply = self._service.handle(frames.request_of(content), client.send)
        except SylkError as problem:
            reply = Failed.of(problem)
        except Exception as problem:
            log.exception("a request could not be answered")
            reply = Failed(code=SylkError.code, message=f"{type(problem).__name__}: {problem}", hint="")
        client.send(reply)


class _Client:
    """One that may be gone: what is sent to it then is not."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.gone = False

    def send(self, reply: AnyAnswer | Progressed | Failed) -> None:
        if self.gone:
            return
        content = frames.encode(reply)
        if len(content) > frames.LONGEST_ANSWER:
            content = frames.encode(
                Failed.of(
                    AnswerTooLarge(
                        f"the answer has {len(content)} bytes, and {frames.LONGEST_ANSWER} may be sent",
                        hint="ask for less: a limit, a part of a file",
                    )
                )
            )
        try:
            frames.send(self._connection, content)
        except OSError:
            self.gone = True


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
