"""The outbox carried out: what a crash, a model or a store that is away leave for later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sylk_ray.knowledge import Domain, KnowledgeBase
from sylk_ray.knowledge.embedding import EmbedderUnavailable, static
from sylk_ray.knowledge.embedding.model_file import ModelFile
from sylk_ray.knowledge.vectors import Point, VectorStoreFailed
from tests.unit.knowledge.test_base import _code  # pyright: ignore[reportPrivateUsage]


def test_what_was_carried_out_without_the_model_gets_its_meaning_when_that_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as crashed, KnowledgeBase(tmp_path) as base:
        crashed.setattr(base._carrier, "carry", lambda: 0)  # noqa: SLF001
        base.insert([_code("1", "where orders are shipped")])

    def broken(path: Path | None = None) -> ModelFile:
        raise EmbedderUnavailable("the file is damaged")

    with monkeypatch.context() as damaged:
        damaged.setattr(static, "open_model", broken)
        with KnowledgeBase(tmp_path) as base:
            assert [found.node.id for found in base.search.by_words("shipped", 5)] == ["1"]
    with KnowledgeBase(tmp_path) as base:
        assert [found.node.id for found in base.search.by_meaning("packed orders", 5)] == ["1"]
        base.flush()
        assert base.statistics().pending == 0


def test_points_are_not_kept_when_they_were_carried_out_nor_while_the_store_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(scope: str, points: Sequence[Point]) -> None:
        raise VectorStoreFailed("the vectors are away")

    with KnowledgeBase(tmp_path) as base:
        carrier, store = base._carrier, base._collections.of(Domain.CODE)  # noqa: SLF001
        base.insert([_code("1", "where orders are shipped")])
        assert carrier._given == {}  # noqa: SLF001
        with monkeypatch.context() as patched:
            patched.setattr(store, "upsert", away)
            for number in range(2, 5):
                with pytest.raises(VectorStoreFailed):
                    base.insert([_code(str(number), "how the total is rounded")])
        assert carrier._given == {}  # noqa: SLF001
        base.insert([_code("5", "nothing of it")])
        assert len(base.search.by_meaning("rounded total", 5)) == 5
        assert base.verify().well
