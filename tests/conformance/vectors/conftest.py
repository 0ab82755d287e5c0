"""Each test of this folder is asked of every kind of store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sylk_ray.knowledge.vectors import VectorStore
from tests.conformance.vectors.stores import KINDS, Opening


@pytest.fixture(params=list(KINDS))
def opening(request) -> Opening:
    return KINDS[request.param]


@pytest.fixture
def store(opening, tmp_path) -> Iterator[VectorStore]:
    with opening(tmp_path) as store:
        yield store
