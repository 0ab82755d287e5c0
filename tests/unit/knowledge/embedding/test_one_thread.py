"""BLAS with one thread, as long as it is asked for so."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from sylk_ray.knowledge.embedding import StaticEmbedder, static
from sylk_ray.knowledge.embedding.one_thread import one_thread


def threads() -> list[int]:
    return [each["num_threads"] for each in ThreadpoolController().select(user_api="blas").info()]


def limited(number: int) -> None:
    """By a thread that is gone then, so that whoever comes next decides."""
    with ThreadPoolExecutor(1) as other:
        other.submit(partial(threadpool_limits, limits=number, user_api="blas")).result()


@pytest.fixture(autouse=True)
def several(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that was told nothing; a test's may have been told to have one."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = threads()
    limited(3)
    if threads() != [3]:
        pytest.skip("numpy comes with another BLAS here")
    yield
    limited(*before)


def test_within_there_is_one_thread_and_after_it_as_many_as_before() -> None:
    with one_thread():
        assert threads() == [1]
        with one_thread():
            assert threads() == [1]
        assert threads() == [1]
    assert threads() == [3]


def test_it_ends_with_an_error_within() -> None:
    with pytest.raises(ValueError, match="within"), one_thread():
        raise ValueError("within")
    assert threads() == [3]


def test_threads_that_embed_at_once_leave_as_many_as_before() -> None:
    embedder = StaticEmbedder()
    with ThreadPoolExecutor(4) as some:
        list(some.map(lambda number: embedder.embed([f"open the door {number}"] * 20), range(40)))
    assert threads() == [3]


def test_all_products_of_documents_are_made_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[int]] = {}

    def spied(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def spy(*given: Any) -> Any:
            seen[name] = threads()
            return real(*given)

        monkeypatch.setattr(owner, name, spy)

    spied(static, "_sum")
    spied(static.Layer, "__call__")
    spied(static, "to_units")
    embedder = StaticEmbedder()
    assert np.linalg.norm(embedder.embed(["open the door"])) == pytest.approx(1)
    assert seen == {"_sum": [1], "__call__": [1]}
    assert embedder.counterparts("open", ["door"]) > 0
    assert seen["to_units"] == [1]
    assert threads() == [3]


def test_a_process_that_has_one_from_its_beginning_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with one_thread():
        assert threads() == [3]
