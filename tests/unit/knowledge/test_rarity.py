"""How rare a question's words are in what is searched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from sylk_ray.knowledge import Domain, KnowledgeBase, Node, NodeType
from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.lexical import document_vector
from sylk_ray.knowledge.rarity import MOST, rarity
from sylk_ray.knowledge.vectors import Point, VectorSpace, VectorStore, open_vectors

SCOPE = "/repo"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    texts = ["run_task()", "stop tasks and luigi", *["task of luigi"] * 8]
    with open_vectors(tmp_path, "code", VectorSpace(dimensions=4, model="none")) as opened:
        opened.upsert(SCOPE, [Point(key=key, sparse=document_vector(text)) for key, text in enumerate(texts, 1)])
        yield opened


def _of(having: int, every: int = 10) -> float:
    return math.log(1 + (every - having + 0.5) / (having + 0.5))


def test_words_are_as_rare_as_the_engine_finds_them(store: VectorStore) -> None:
    found = rarity(store, SCOPE, "does luigi stop a runningTask?")
    assert found is not None
    known = {"luigi": _of(9), "stop": _of(1), "running": _of(1), "task": _of(10), "does": _of(0), "a": _of(0)}
    assert dict(found.of) == pytest.approx(known, rel=1e-5)
    assert found.most == pytest.approx(_of(0))


def test_of_what_is_not_there_nothing_is_known(store: VectorStore) -> None:
    assert rarity(store, SCOPE, "kubernetes operator") is None
    assert rarity(store, "/elsewhere", "task") is None
    assert rarity(store, SCOPE, "?!") is None


def test_a_question_of_very_many_words_is_not_looked_up(store: VectorStore) -> None:
    words = [f"task{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(MOST - 1)]
    assert rarity(store, SCOPE, " ".join([*words, "task"])) is not None
    assert rarity(store, SCOPE, " ".join([*words, "task", "luigi"])) is None


def test_what_a_project_is_about_says_little_in_it(tmp_path: Path) -> None:
    """Half of what is in it is called by the word, and one thing is what was asked for."""
    texts = {"one": "def remove_lock(path): unlink(path)", "other": "def scheduler_worker(): worker.schedule()"}
    texts |= {f"more{number}": f"def worker_{number}(worker): return worker.work" for number in range(40)}
    nodes = [
        Node(id=each, type=NodeType.FUNCTION, domain=Domain.CODE, scope=SCOPE, name=each, path="a.py", content=text)
        for each, text in texts.items()
    ]
    question = "worker deletes its lock file"
    with KnowledgeBase(tmp_path) as base:
        base.insert(nodes)
        keys = {node.key: node.id for node in base.select(domain=Domain.CODE)}
        _, found = base.search.both_ways(question, 50, domain=Domain.CODE, scope=SCOPE)
        plain = base.search.by_vector(StaticEmbedder().embed_query(question), 50, scope=SCOPE)
    here = {keys[hit.key]: hit.score for hit in found}
    usual = {each.node.id: each.score for each in plain}
    assert here["one"] == max(here.values())
    assert here["one"] - here["more1"] > usual["one"] - usual["more1"] + 0.05
