"""BLAS with one thread, as long as it is asked for so."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

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


def test_documents_are_embedded_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    summed = static._sum

    def spied(*given) -> None:
        seen.append(threads())
        summed(*given)

    monkeypatch.setattr(static, "_sum", spied)
    assert np.linalg.norm(StaticEmbedder().embed(["open the door"])) == pytest.approx(1)
    assert (seen, threads()) == ([[1]], [3])


def test_a_process_that_has_one_from_its_beginning_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with one_thread():
        assert threads() == [3]
