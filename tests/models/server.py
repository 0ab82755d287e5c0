"""A server of models over real HTTP on loopback, in both protocols."""

from __future__ import annotations

import json
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sylk_ray.llm import Piece, Request, StopPiece, TextPiece, UnknownRequest, Usage, UsagePiece
from sylk_ray.llm.replay import Recording
from sylk_ray.llm.replay.player import in_parts
from tests.models import wire
from tests.models.faults import Complaint, Cut, Fault, Garbage, Page, SlowFirst, Stall, Status, Whole

Answer = Callable[[Request], Sequence[Piece]]


@dataclass(frozen=True)
class Asked:
    """One request that came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    request: Request


def says(text: str) -> list[Piece]:
    """An answer of text alone."""
    return [TextPiece(text), UsagePiece(Usage(100, 10, 40)), StopPiece("end")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # clients may hang up
            super().handle_error(request, client_address)


class ModelServer:
    """Answers from a script in its order, from a function, or from a recording, after the faults that are due.

    ``asked`` is the log of all requests, ``hung_up`` is set when a client closes a connection before its answer's end.
    """

    def __init__(self, *script: Sequence[Piece], answer: Answer | None = None, recording: Path | None = None) -> None:
        self._script = list(script)
        self._answer = answer
        self._recording = Recording.read(recording) if recording else None
        self._lock = threading.Lock()
        self.faults: list[Fault] = []
        self.before: Callable[[Request], object] = lambda request: None
        """Called with each request before it is answered; several at a time, while answers are made one by one."""
        self.asked: list[Asked] = []
        self.hung_up = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()

    def pieces_for(self, request: Request) -> Sequence[Piece]:
        """What is answered to it."""
        with self._lock:
            if self._recording is not None:
                return self._recording.answer(request)
            if self._answer is not None:
                return self._answer(request)
            return self._script.pop(0) if self._script else says("hello")

    def complains_of(self, body: dict[str, Any]) -> Fault | None:
        """What a server of its kind finds wrong with a body."""
        return None

    def due(self) -> Fault | None:
        """The fault of this request."""
        with self._lock:
            return self.faults.pop(0) if self.faults else None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each first event waits 40 ms for an acknowledgement

            def log_message(self, format: str, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                sent = self.rfile.read(length)
                if len(sent) < length:  # given up while it was asked
                    self.close_connection = True
                    return
                body = json.loads(sent)
                anthropic = self.path.endswith("/messages")
                request = wire.from_anthropic(body) if anthropic else wire.from_openai(body)
                server.asked.append(Asked(self.path, dict(self.headers.items()), body, request))
                fault = server.complains_of(body) or server.due()
                if isinstance(fault, Status):
                    self._refuse(fault)
                    return
                if isinstance(fault, Page):
                    self._document(200, {"content-type": "text/html"}, b"<html>Please sign in</html>")
                    return
                if isinstance(fault, SlowFirst):
                    time.sleep(fault.seconds)
                server.before(request)
                try:
                    pieces = [part for piece in server.pieces_for(request) for part in in_parts(piece)]
                except UnknownRequest as unknown:
                    self._refuse(Status(404, f"{unknown.code}: {unknown.message}"))
                    return
                if isinstance(fault, Whole):
                    told = json.dumps(wire.to_openai_document(pieces)).encode()
                    self._document(200, {"content-type": "application/json"}, told)
                    return
                events = wire.to_anthropic(pieces, request) if anthropic else wire.to_openai(pieces)
                try:
                    self._send(events, fault)
                except (BrokenPipeError, ConnectionResetError):
                    server.hung_up.set()
                    self.close_connection = True

            def _refuse(self, fault: Status) -> None:
                told = json.dumps({"type": "error", "error": {"type": "test", "message": fault.message}}).encode()
                self._document(fault.status, {**fault.headers, "content-type": "application/json"}, told)

            def _document(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def _send(self, events: Iterator[bytes], fault: Fault | None) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream; charset=utf-8")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for number, event in enumerate(events):
                    if isinstance(fault, (Cut, Stall, Garbage, Complaint)) and number == fault.after:
                        self._fail(fault)
                        return
                    self._chunk(event)
                self._chunk(b"")

            def _fail(self, fault: Cut | Stall | Garbage | Complaint) -> None:
                if isinstance(fault, Complaint):
                    self._chunk(b"data: " + json.dumps({"type": "error", "error": fault.error}).encode() + b"\n\n")
                    self._chunk(b"")
                    return
                if isinstance(fault, Garbage):
                    self._chunk(b"data: <html>oops\n\n")
                    self._chunk(b"")
                    return
                if isinstance(fault, Stall):
                    self.wfile.flush()
                    if select.select([self.connection], [], [], 30)[0] and not self.connection.recv(1):
                        server.hung_up.set()
                self.close_connection = True

            def _chunk(self, data: bytes) -> None:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()

        return Handler
