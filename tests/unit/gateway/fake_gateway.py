"""A gateway that says what a test wants, for programs that run as processes of their own."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from sylk_ray.gateway.door import Door, announce, ensure_token
from sylk_ray.gateway.frames import ending, frame, mark
from sylk_ray.messaging import Event
from sylk_ray.sessions import JobRecord, JobState, TaskRecord


def a_record(status: JobState = JobState.RUNNING, **more: Any) -> JobRecord:
    tasks = {"notes": TaskRecord("notes", "succeeded", attempts=1, started_at=1.0, files_changed=["a"], commit="abc")}
    return JobRecord(
        "j-1", "tidy", "s-1", "tidy-1", "/repo", "sylk/tidy-1", status, 1.0, base="000", tasks=tasks, **more
    )


def an_ending(status: JobState) -> Event:
    return Event("job.finished", "s-1", data={"status": status, "record": msgspec.to_builtins(a_record(status))})


class FakeGateway:
    """Answers ``replies[(method, path)]``; a job's events are ``events``, then those that ``say`` adds. They are what
    is published to topics too, each with its number as the cursor, and a connection for ``topics_at_once`` of them."""

    def __init__(self, home: Path) -> None:
        self.token = ensure_token(home)
        self.replies: dict[tuple[str, str], Any] = {
            ("GET", "/health"): {"ok": True, "version": "0.1.0"},
            ("GET", "/foreground"): None,
        }
        self.heard: list[tuple[str, str, Any]] = []
        self.events: list[Event] = []
        self.cursors: list[str] = []
        self.topics_at_once = 1000
        self.ends_with = "no_more"
        self.streaming = threading.Event()
        self._more = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        announce(home, Door(self.url, os.getpid(), "0.1.0"))

    def say(self, *events: Event) -> None:
        """Add events to the stream."""
        with self._more:
            self.events += events
            self._more.notify_all()

    def heard_of(self, path: str) -> list[Any]:
        """The bodies that were sent to a path."""
        return [body for _, heard, body in self.heard if heard == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path.endswith("/events"):
                    self._stream()
                elif path == "/topics" and ("GET", path) not in gateway.replies:
                    self._topics()
                else:
                    self._answer("GET")

            def do_POST(self) -> None:
                self._answer("POST")

            def do_PATCH(self) -> None:
                self._answer("PATCH")

            def do_DELETE(self) -> None:
                self._answer("DELETE")

            def _answer(self, method: str) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                path = self.path.partition("?")[0]
                gateway.heard.append((method, self.path, body))
                reply = gateway.replies.get((method, path))
                if self.headers.get("authorization") != f"Bearer {gateway.token}":
                    status, reply = 401, _error("not_authorised", "no token", 1)
                elif (method, path) not in gateway.replies:
                    status, reply = 404, _error("not_found", f"there is no {path}", 2)
                else:
                    reply = reply(body) if callable(reply) else reply
                    status, reply = reply if isinstance(reply, tuple) else (200, reply)
                data = reply.encode() if isinstance(reply, str) else msgspec.json.encode(reply)
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self) -> None:
                gateway.cursors.append(self.headers.get("last-event-id", ""))
                self.send_response(200)
                self.end_headers()
                sent = 0
                while True:
                    with gateway._more:
                        if not gateway._more.wait_for(lambda sent=sent: len(gateway.events) > sent, timeout=30):
                            return  # whoever listened has gone
                        event = gateway.events[sent]
                    sent += 1
                    self.wfile.write(frame(event))
                    self.wfile.flush()
                    gateway.streaming.set()
                    if event.kind in ("job.finished", "stream.ended"):
                        return

            def _topics(self) -> None:
                cursor = self.headers.get("last-event-id", "")
                gateway.heard.append(("GET", self.path, None))
                gateway.cursors.append(cursor)
                self.send_response(200)
                self.end_headers()
                sent = int(cursor or 0)
                self.wfile.write(mark(str(sent)))
                for number, event in enumerate(gateway.events[sent : sent + gateway.topics_at_once], sent + 1):
                    self.wfile.write(frame(event, str(number), topic=True))
                if "follow=false" in self.path:
                    self.wfile.write(ending(gateway.ends_with))
                    return
                if sent + gateway.topics_at_once < len(gateway.events):
                    return
                self.wfile.flush()
                gateway.streaming.set()
                with gateway._more:
                    gateway._more.wait(timeout=30)

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler


def _error(code: str, message: str, exit_code: int) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": "", "exit_code": exit_code}}
