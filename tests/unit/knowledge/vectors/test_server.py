"""The server over HTTP: its keys, its pauses, its errors, and what was written of a batch. Its API is played by a small
server on this machine; what it does with points is held to the rest by the conformance suite."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from sylk_ray.knowledge.vectors import (
    Point,
    Query,
    VectorServerRefused,
    VectorServerUnreachable,
    VectorSpace,
    VectorStoreFailed,
    open_vectors,
)
from sylk_ray.knowledge.vectors.retrying import Retrying
from sylk_ray.knowledge.vectors.server import BATCH, ServerVectors, connect

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")

SPACE = VectorSpace(dimensions=4)
Answer = tuple[int, dict[str, str], Any]


def ok(result: Any) -> Answer:
    return 200, {}, {"result": result, "status": "ok", "time": 0.0}


def failed(status: int, why: str = "no", **headers: str) -> Answer:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, {"status": {"error": why}}


class Played:
    """Qdrant's API as far as a store begins and writes; ``script`` answers first, by what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        self.targets: list[str] = []
        self.script: list[tuple[str, Callable[[], Answer | None]]] = []

    def answer(self, method: str, path: str) -> Answer | None:
        for at, (of, says) in enumerate(self.script):
            if f"{method} {path}".startswith(of):
                del self.script[at]
                return says()
        if path.endswith("/exists"):
            return ok({"exists": True})
        if path.endswith("/points/scroll"):
            return ok({"points": [], "next_page_offset": None})
        if path.endswith("/points/query/batch"):
            return ok([{"points": []}])
        if method == "PUT" and path.count("/") == 2:
            return ok(True)
        if method == "PUT" or path.endswith("/points/delete"):
            return ok({"operation_id": 1, "status": "completed"})
        return failed(404, f"not played: {method} {path}")

    def upserts(self) -> list[int]:
        """How many points came in each request to write some, the scopes' own aside."""
        return [
            len(body["points"])
            for method, path, _, body in self.asked
            if (method, path) == ("PUT", "/collections/code.d4/points")
        ]


@pytest.fixture
def played() -> Played:
    return Played()


@pytest.fixture
def url(played) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            path = self.path.partition("?")[0]
            played.targets.append(self.path)
            played.asked.append((self.command, path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = played.answer(self.command, path)
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            encoded = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "content-type": "application/json", "content-length": len(encoded)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = handle_one  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hung up."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


class Pauses(list[float]):
    """What would have been slept."""

    def retrying(self, **options: Any) -> Retrying:
        return Retrying(sleep=self.append, chance=lambda: 1.0, **options)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def store(url, pauses) -> Iterator[ServerVectors]:
    with connect(url, "code", SPACE, retrying=pauses.retrying(), timeout_s=1) as store:
        yield store


def points(count: int) -> list[Point]:
    return [Point(key=n + 1, dense=np.ones(4, dtype=np.float32)) for n in range(count)]


UPSERT = "PUT /collections/code.d4/points"


def test_the_key_of_the_environment_is_sent_and_told_to_nobody(url, played, monkeypatch, capfd, caplog):
    caplog.set_level(0)
    monkeypatch.setenv("QDRANT_API_KEY", "very-secret")
    with open_vectors(url, "code", SPACE) as store:
        store.upsert("r", points(1))
        played.script.append(("POST /collections/code.d4/points/query", lambda: failed(400, "bad")))
        with pytest.raises(VectorStoreFailed) as raised:
            store.search("r", Query(dense=np.ones(4, dtype=np.float32)))
    assert {headers["api-key"] for _, _, headers, _ in played.asked} == {"very-secret"}
    told = f"{raised.value.message}{raised.value.hint}{caplog.text}{capfd.readouterr()}"
    assert "very-secret" not in told


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_us_is_asked_once_and_its_key_is_named(url, played, pauses, status):
    played.script.append(("GET /collections/code.scopes/exists", lambda: failed(status, "wrong key")))
    with pytest.raises(VectorServerRefused) as raised:
        connect(url, "code", SPACE, retrying=pauses.retrying())
    assert "QDRANT_API_KEY" in raised.value.hint
    assert url in raised.value.message
    assert (raised.value.exit_code, pauses, len(played.asked)) == (3, [], 1)


def test_a_server_that_is_not_there_is_tried_again_and_then_told_of(pauses):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(VectorServerUnreachable) as raised:
            connect(url, "code", SPACE, retrying=pauses.retrying(attempts=4, first_s=1.0, longest_s=3.0))
    assert pauses == [1.0, 2.0, 3.0]
    assert raised.value.exit_code == 3
    assert url in raised.value.message


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_server_that_cannot_now_is_asked_again(store, played, pauses, status):
    store.upsert("r", points(1))
    played.script += [(UPSERT, lambda: failed(status)), (UPSERT, lambda: failed(status))]
    store.upsert("r", points(2))
    assert played.upserts() == [1, 2, 2, 2]
    assert pauses == [0.2, 0.4]


@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_that_a_server_asks_for_is_kept(store, played, pauses, status):
    played.script.append((UPSERT, lambda: failed(status, retry_after="7")))
    store.upsert("r", points(1))
    assert pauses == [7.0]


def test_a_server_that_asks_for_a_long_pause_is_given_up(store, played, pauses):
    played.script.append((UPSERT, lambda: failed(429, retry_after="3600")))
    with pytest.raises(VectorServerUnreachable):
        store.upsert("r", points(1))
    assert pauses == []


def test_a_connection_that_is_cut_is_made_again(store, played, pauses):
    played.script.append((UPSERT, lambda: None))
    store.upsert("r", points(1))
    assert played.upserts() == [1, 1]
    assert len(pauses) == 1


def test_a_server_that_does_not_answer_is_waited_for_so_long_and_no_longer(store, played, pauses):
    answered = threading.Event()

    def hang() -> Answer:
        answered.wait(10)
        return ok({"operation_id": 1, "status": "completed"})

    played.script += [(UPSERT, hang)] * 5
    with pytest.raises(VectorServerUnreachable, match="Timeout"):
        store.upsert("r", points(1))
    answered.set()
    assert len(pauses) == 4


def test_what_the_server_takes_for_wrong_is_not_asked_again(store, played, pauses):
    played.script.append((UPSERT, lambda: failed(422, "what is this")))
    with pytest.raises(VectorStoreFailed, match="what is this"):
        store.upsert("r", points(1))
    assert pauses == []


def test_an_answer_that_is_none_of_qdrant_is_told(store, played, pauses):
    played.script.append((UPSERT, lambda: (200, {}, {"hello": "world", "result": 5})))
    with pytest.raises(VectorStoreFailed, match="no answer of Qdrant"):
        store.upsert("r", points(1))


def test_what_was_written_before_a_failure_is_known(store, played):
    store.upsert("r", points(1))

    def second() -> None:
        played.script.append((UPSERT, lambda: failed(400, "too large")))

    def first() -> Answer:
        second()
        return ok({"operation_id": 1, "status": "completed"})

    played.script.append((UPSERT, first))
    with pytest.raises(VectorStoreFailed) as raised:
        store.upsert("r", points(3 * BATCH))
    assert raised.value.done == frozenset(range(1, BATCH + 1))
    assert played.upserts() == [1, BATCH, BATCH]


def test_writes_wait_until_the_server_has_them(url, played):
    with connect(url, "code", SPACE) as store:
        store.upsert("r", points(1))
        store.delete("r", [1])
    writes = [each for each in played.targets if "/points?" in each or "/points/delete" in each]
    assert len(writes) == 3
    assert all("wait=true" in each for each in writes)


def test_a_new_collection_has_its_indexes_and_a_graph_for_each_tenant(url, played):
    absent = [("GET /collections/code.scopes/exists", lambda: ok({"exists": False}))]
    absent.append(("GET /collections/code.d4/exists", lambda: ok({"exists": False})))
    played.script += absent
    with connect(url, "code", SPACE) as store:
        store.upsert("r", points(1))
    made = {path: body for method, path, _, body in played.asked if method == "PUT"}
    assert made["/collections/code.d4"]["vectors"]["dense"] == {"size": 4, "distance": "Cosine"}
    assert made["/collections/code.d4"]["sparse_vectors"]["lexical"] == {"modifier": "idf"}
    indexes = [body for _, path, _, body in played.asked if path == "/collections/code.d4/index"]
    assert {each["field_name"] for each in indexes} >= {"_tenant", "type", "language", "path", "session", "tests"}
    assert indexes[0]["field_schema"]["is_tenant"] is True


def test_a_collection_that_was_made_by_a_request_whose_answer_was_lost_is_no_error(url, played, pauses):
    played.script += [
        ("GET /collections/code.scopes/exists", lambda: ok({"exists": False})),
        ("PUT /collections/code.scopes", lambda: failed(409, "already exists")),
    ]
    connect(url, "code", SPACE, retrying=pauses.retrying()).close()
    assert pauses == []
