"""The other end of the gateway, on the standard library's HTTP: a command must answer before a larger client is
even imported."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from sylk_ray.errors import RuntimeNotReachable, SylkError, error_of
from sylk_ray.gateway.door import find_door, read_token
from sylk_ray.messaging import DeliveryError, Event

START_HINT = "start a runtime with `sylk up`"
_QUIET_S = 30.0
"""A stream says something every 10 s; silence for this long means that nobody is there."""
_PATIENCE_S = 20.0
_NO_MORE = "no_more"
_TOLD = ("stream.unreadable", "stream.dropped")
"""What a stream says of itself that is for whoever watches."""


class RuntimeEnded(SylkError):
    """The runtime was ended in order while someone followed a job."""

    code = "runtime_ended"


class StreamBroken(SylkError):
    """What was wanted to its end ended before it."""

    code = "stream_broken"


class GatewayClient:
    """Speaks to the runtime of a state directory. Every method raises RuntimeNotReachable when none answers, and
    otherwise the SylkError that the gateway tells of."""

    def __init__(self, home: Path) -> None:
        self._home = home
        door = find_door(home)
        if door is None:
            raise RuntimeNotReachable(f"no runtime runs in {home}", hint=START_HINT)
        self.url = door.url
        self._place = urlsplit(door.url).netloc
        self._token = read_token(home)

    def get(self, path: str, *, timeout: float = 60.0, **query: object) -> Any:
        """The JSON of a GET."""
        return self._json("GET", _with_query(path, query), None, timeout)

    def get_text(self, path: str, *, timeout: float = 60.0, **query: object) -> str:
        """The text of a GET."""
        return self._call("GET", _with_query(path, query), None, timeout).decode(errors="replace")

    def post(self, path: str, body: object = None, *, timeout: float = 180.0) -> Any:
        """The JSON of a POST."""
        return self._json("POST", path, {} if body is None else body, timeout)

    def patch(self, path: str, body: object, *, timeout: float = 60.0) -> Any:
        """The JSON of a PATCH."""
        return self._json("PATCH", path, body, timeout)

    def delete(self, path: str, *, timeout: float = 200.0, **query: object) -> Any:
        """The JSON of a DELETE."""
        return self._json("DELETE", _with_query(path, query), None, timeout)

    def events(self, job_id: str, after: int = 0) -> Iterator[Event]:
        """A job's events to its end, over as many connections as it takes; ``after`` skips what is known.

        Raises RuntimeEnded when the runtime was ended meanwhile, and RuntimeNotReachable when nobody has answered for
        a while, since the job may go on without us.
        """
        path = f"/jobs/{quote(job_id, safe='')}/events"
        ended = RuntimeEnded(
            f"the runtime was ended before job {job_id} was over",
            hint=f"if the job was suspended, `sylk up` and `sylk resume {job_id}` let it go on",
        )
        for event, _ in self._followed(path, str(after), ended):
            yield event
            if event.kind == "job.finished":
                return

    def kept_events(self, job_id: str) -> list[Event]:
        """A job's events so far. Raises StreamBroken when there are more than arrived."""
        kept: list[Event] = []
        for event, _ in self._so_far(f"/jobs/{quote(job_id, safe='')}/events?follow=false", "0"):
            kept.append(event)
            if event.kind == "job.finished":
                break  # the stream ends with it, and says no more
        return kept

    def topics(
        self, pattern: str, cursor: str = "", *, follow: bool = True, **query: object
    ) -> Iterator[tuple[Event, str]]:
        """What is published to the topics of a pattern, each event with the cursor to go on with after it; ``cursor``
        skips what is known, and without one it begins now. ``query`` is what else the route takes.

        Following does not end by itself: it raises what ``events`` does. Without it, it raises StreamBroken when there
        is more than arrived.
        """
        path = _with_query("/topics", {"pattern": pattern, **query, **({} if follow else {"follow": "false"})})
        if follow:
            ended = RuntimeEnded("the runtime was ended", hint="start it again with `sylk up`")
            yield from self._followed(path, cursor, ended)
            return
        yield from self._so_far(path, cursor)

    def _so_far(self, path: str, cursor: str) -> Iterator[tuple[Event, str]]:
        for event, position in self._stream(path, cursor, whole=True):
            if event is not None:
                yield event, position

    def _followed(self, path: str, cursor: str, ended: RuntimeEnded) -> Iterator[tuple[Event, str]]:
        patience = time.monotonic() + _PATIENCE_S
        while True:
            problem: SylkError | None = None
            try:
                for event, position in self._stream(path, cursor):
                    cursor, patience = position, time.monotonic() + _PATIENCE_S
                    if event is not None:
                        yield event, cursor
            except (RuntimeNotReachable, DeliveryError) as error:
                problem = error
            if find_door(self._home) is None:
                # A gateway that died has left its announcement; one that was ended has taken it back.
                raise ended from problem
            if problem is not None and time.monotonic() >= patience:
                raise problem
            self._move()
            time.sleep(0.2)

    def _stream(self, path: str, cursor: str, *, whole: bool = False) -> Iterator[tuple[Event | None, str]]:
        """Events, and None where the gateway only shows that it is there, each with the cursor after it. One that is to
        be ``whole`` raises StreamBroken when it does not end because there is no more."""
        connection = http.client.HTTPConnection(self._place, timeout=_QUIET_S)
        try:
            response = self._request(connection, "GET", path, None, {"Last-Event-ID": cursor} if cursor else {})
            if response.status >= 400:
                raise _told(response.status, response.read())
            kind, data, why = "", b"", "the connection was closed"
            while line := response.readline():
                name, _, value = line.rstrip(b"\r\n").partition(b": ")
                if name == b"event":
                    kind = value.decode()
                elif name == b"data":
                    data = value
                elif name == b"id":
                    cursor = value.decode()
                elif not line.strip():
                    if kind == "stream.failed":
                        raise _told(500, data)
                    is_event = bool(data) and (kind in _TOLD or not kind.startswith("stream."))
                    yield msgspec.json.decode(data, type=Event) if is_event else None, cursor
                    if kind == "stream.ended":
                        why = str(json.loads(data).get("reason", ""))
                    kind, data = "", b""
            if whole and why != _NO_MORE:
                raise StreamBroken(f"the gateway ended before it had told everything: {why}", hint="try it again")
        except (OSError, http.client.HTTPException) as problem:
            raise self._unreachable(problem) from problem
        finally:
            connection.close()

    def _json(self, method: str, path: str, body: object, timeout: float) -> Any:
        try:
            return json.loads(self._call(method, path, body, timeout))
        except ValueError as problem:
            raise self._unreachable(problem) from problem

    def _call(self, method: str, path: str, body: object, timeout: float) -> bytes:
        connection = http.client.HTTPConnection(self._place, timeout=timeout)
        try:
            response = self._request(connection, method, path, body, {})
            content = response.read()
        except (OSError, http.client.HTTPException) as problem:
            raise self._unreachable(problem) from problem
        finally:
            connection.close()
        if response.status >= 400:
            raise _told(response.status, content)
        return content

    def _request(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        sent = None if body is None else json.dumps(body).encode()
        connection.request(
            method,
            path,
            sent,
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers},
        )
        return connection.getresponse()

    def _move(self) -> None:
        """A runtime that came back listens elsewhere."""
        door = find_door(self._home)
        if door is not None:
            self.url = door.url
            self._place = urlsplit(door.url).netloc

    def _unreachable(self, problem: Exception) -> RuntimeNotReachable:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem) or repr(problem)
        return RuntimeNotReachable(
            f"the runtime at {self.url} does not answer: {why}", hint=f"{START_HINT}, or look with `sylk doctor`"
        )


def _with_query(path: str, query: dict[str, object]) -> str:
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items() if value}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _told(status: int, content: bytes) -> SylkError:
    """The error that the gateway tells of, with its code and exit code, whether its class is known here or not."""
    try:
        told = json.loads(content)["error"]
        error = error_of(told["code"], told["message"], told["hint"])
        vars(error).update(code=told["code"], exit_code=told["exit_code"], problems=told.get("problems", []))
    except (ValueError, KeyError, TypeError):
        # Not in the gateway's own words: it is being ended, or something else listens there.
        told = content[:200].decode(errors="replace")
        return RuntimeNotReachable(f"the gateway answered {status}: {told}", hint=START_HINT)
    return error
