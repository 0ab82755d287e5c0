"""A service that embeds, played over HTTP by a transport that records what it is asked."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import httpx
import numpy as np
import pytest

from sylk_ray.knowledge.embedding import EmbedderUnavailable, RemoteEmbedder

Answer = Callable[[httpx.Request], httpx.Response]


def _vectors(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    data = [{"index": n, "embedding": [float(len(text)), 0.0, 1.0]} for n, text in enumerate(texts)]
    return httpx.Response(200, json={"data": data[::-1]})


class Service:
    """Answers with each of what it was given in turn, then with vectors; keeps what it was asked and told to wait."""

    def __init__(self, *first: Answer | httpx.Response | Exception) -> None:
        self.first = list(first)
        self.asked: list[httpx.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.first.pop(0) if self.first else _vectors
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    def embedder(self, **more: object) -> RemoteEmbedder:
        client = httpx.Client(transport=httpx.MockTransport(self))
        return RemoteEmbedder("http://service/v1/", "m", client=client, sleep=self.waits.append, **more)  # type: ignore[arg-type]


def test_texts_go_in_batches_and_come_back_in_order() -> None:
    service = Service()
    rows = service.embedder().embed(["x" * (n + 1) for n in range(150)])
    assert [len(json.loads(each.content)["input"]) for each in service.asked] == [64, 64, 22]
    assert str(service.asked[0].url) == "http://service/v1/embeddings"
    assert rows.shape == (150, 3)
    assert np.allclose(rows[:, 0] / rows[:, 2], np.arange(1, 151))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


@pytest.mark.parametrize("problem", [httpx.DecodingError("no gzip"), httpx.TooManyRedirects("in a circle")])
def test_whatever_the_connection_ends_in_is_no_embedder(problem: Exception) -> None:
    with pytest.raises(EmbedderUnavailable, match=type(problem).__name__):
        Service(*[problem] * 9).embedder().embed_query("abc")


def test_what_passes_is_asked_again_after_the_time_that_is_asked_for() -> None:
    service = Service(
        httpx.Response(429, headers={"retry-after": "7"}), httpx.Response(503), httpx.ConnectError("refused")
    )
    assert service.embedder().embed_query("abc").shape == (3,)
    assert service.waits == [7.0, 1.0, 2.0]


def test_what_does_not_pass_is_not_asked_again() -> None:
    service = Service(httpx.Response(401, text="bad key"))
    with pytest.raises(EmbedderUnavailable, match="401 bad key"):
        service.embedder().embed(["x"])
    assert len(service.asked) == 1


def test_a_service_that_stays_away_is_given_up() -> None:
    service = Service(*[httpx.ConnectTimeout("")] * 5)
    with pytest.raises(EmbedderUnavailable, match="ConnectTimeout"):
        service.embedder().embed(["x"])
    assert len(service.asked) == 5
    assert len(service.waits) == 4


def test_the_key_comes_from_the_environment_and_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "s3cret")
    service = Service(httpx.Response(400, text="key s3cret is wrong"))
    embedder = service.embedder(api_key_env="THE_KEY")
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed(["x"])
    assert service.asked[0].headers["authorization"] == "Bearer s3cret"
    assert "s3cret" not in f"{caught.value.message}{caught.value.hint}{vars(embedder)!r}"


@pytest.mark.parametrize(
    "body", [{}, {"data": []}, {"data": [{"index": 0, "embedding": "???"}]}, {"data": [{"index": 0}]}, []]
)
def test_an_answer_that_is_no_embedding_is_said_to_be_none(body: object) -> None:
    with pytest.raises(EmbedderUnavailable, match="no embedding"):
        Service(httpx.Response(200, json=body)).embedder().embed(["x"])


def test_an_answer_in_base64_is_read() -> None:
    packed = base64.b64encode(np.asarray([3.0, 4.0], "<f4").tobytes()).decode()
    service = Service(httpx.Response(200, json={"data": [{"index": 0, "embedding": packed}]}))
    assert np.allclose(service.embedder().embed(["x"]), [[0.6, 0.8]])


def test_dimensions_are_asked_for_or_found_out() -> None:
    service = Service()
    assert service.embedder().dimensions == 3
    shorter = service.embedder(dimensions=64)
    assert shorter.dimensions == 64
    assert shorter.name != service.embedder().name
    shorter.embed(["x"])
    assert json.loads(service.asked[-1].content)["dimensions"] == 64
