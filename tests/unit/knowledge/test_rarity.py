"""How rare a question's words are in what is searched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from sylk_ray.knowledge import Domain, KnowledgeBase, Node, NodeType
from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.encoding import meaning_of
from sylk_ray.knowledge.lexical import K1, document_vector, query_vector
from sylk_ray.knowledge.rarity import MOST, most_said, rarity
from sylk_ray.knowledge.vectors import Point, Query, VectorSpace, VectorStore, open_vectors

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
    found = rarity(store, SCOPE, "luigi can stop the runningTask nobody")
    assert found is not None
    known = {"luigi": _of(9), "stop": _of(1), "running": _of(1), "task": _of(10), "nobody": _of(0)}
    assert dict(found.of) == pytest.approx(known, rel=1e-5)
    assert found.documents == 10


def test_words_that_say_nothing_are_not_looked_up(store: VectorStore) -> None:
    found = rarity(store, SCOPE, "where is the task of that")
    assert found is not None
    assert set(found.of) == {"task"}
    assert rarity(store, SCOPE, "where is that") is None


def test_of_what_is_not_there_nothing_is_known(store: VectorStore) -> None:
    assert rarity(store, SCOPE, "kubernetes operator") is None
    assert rarity(store, "/elsewhere", "task") is None
    assert rarity(store, SCOPE, "?!") is None


def test_of_a_question_of_very_many_words_the_first_are_looked_up(store: VectorStore) -> None:
    words = [f"task{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(MOST - 1)]
    found = rarity(store, SCOPE, " ".join([*words, "task", "luigi"]))
    assert found is not None
    assert len(found.of) == MOST
    assert "task" in found.of
    assert "luigi" not in found.of


@pytest.mark.parametrize("word", ["İ" * 40, "İİ", "größe_読む", "x" * 70, "straßenname"])
def test_any_writing_can_be_asked_with(store: VectorStore, word: str) -> None:
    found = rarity(store, SCOPE, f"task {word}")
    assert found is not None
    assert found.of["task"] == pytest.approx(_of(10), rel=1e-5)
    store.upsert(SCOPE, [Point(key=20, sparse=document_vector(word))])
    again = rarity(store, SCOPE, f"task {word}")
    assert again is not None
    assert all(again.of[part] == pytest.approx(_of(1, 11), rel=1e-5) for part in again.of if part != "task")


def test_of_what_is_changed_meanwhile_nothing_is_known(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between finding the best document of a word and looking at it, that lost the word, or is gone."""
    get = store.get

    def late(scope: str, keys: Iterable[int]) -> list[Point]:
        store.upsert(SCOPE, [Point(key=2, sparse=document_vector("something else"))])
        return get(scope, keys)

    monkeypatch.setattr(store, "get", late)
    found = rarity(store, SCOPE, "stop task")
    assert found is not None
    assert set(found.of) == {"task"}
    monkeypatch.setattr(store, "get", lambda scope, keys: [])
    assert rarity(store, SCOPE, "something task") is None


def test_no_document_says_the_most(store: VectorStore) -> None:
    words = query_vector("luigi runs nobody")
    assert words is not None
    most = most_said(store, SCOPE, words)
    assert most == pytest.approx((K1 + 1) * (_of(9) + _of(1) + _of(0)), rel=1e-5)
    for_ever = document_vector("luigi runs nobody " * 4_000)
    store.upsert(SCOPE, [Point(key=99, sparse=for_ever)])
    [best] = store.search(SCOPE, Query(sparse=words, k=1))
    assert 0.98 * most_said(store, SCOPE, words) < best.score < most_said(store, SCOPE, words)
    assert most_said(store, "/elsewhere", words) > 0


def _node(name: str, text: str, scope: str) -> Node:
    return Node(
        id=f"{scope}/{name}",
        type=NodeType.FUNCTION,
        domain=Domain.CODE,
        scope=scope,
        name=name,
        path="a.py",
        content=text,
    )


def test_what_a_project_is_about_says_little_in_it(tmp_path: Path) -> None:
    """Half of what is in it is called by the word, and one thing is what was asked for."""
    texts = {"one": "def remove_lock(path): unlink(path)", "other": "def scheduler_worker(): worker.schedule()"}
    texts |= {f"more{number}": f"def worker_{number}(worker): return worker.work" for number in range(40)}
    nodes = [_node(each, text, SCOPE) for each, text in texts.items()]
    question = "worker deletes its lock file"
    nodes += [_node(f"far{number}", f"def far_{number}(worker): return worker.work", SCOPE) for number in range(400)]
    with KnowledgeBase(tmp_path) as base:
        base.insert(nodes)
        keys = {node.key: node.id for node in base.select(domain=Domain.CODE)}
        _, found = base.search.both_ways(question, 500, domain=Domain.CODE, scope=SCOPE)
        plain = base.search.by_vector(StaticEmbedder().embed_query(question), 500, scope=SCOPE)
    here = {keys[hit.key]: hit.score for hit in found}
    usual = {each.node.id: each.score for each in plain}
    assert here["/repo/one"] == max(here.values())
    assert here["/repo/one"] - here["/repo/more1"] > usual["/repo/one"] - usual["/repo/more1"] + 0.05


def test_in_several_scopes_it_is_asked_in_the_same_way(tmp_path: Path) -> None:
    """Else what stands alone in a scope comes after what is of little use in a large one."""
    many = [_node(f"w{number}", f"def worker_{number}(worker): return worker.work", "/many") for number in range(50)]
    many.append(_node("socket", "def process_dies(process): remove the socket", "/many"))
    one = _node("lock", "def release_lock(worker):\n    release the lock of a worker", "/one")
    question = "release worker lock when process dies"
    with KnowledgeBase(tmp_path) as base:
        base.insert([*many, one])
        found = base.search.by_meaning(question, 2)
        alone = base.search.by_meaning(question, 1, scope="/one")
    plain = float(StaticEmbedder().embed([meaning_of(one)])[0] @ StaticEmbedder().embed_query(question))
    assert found[0].node.id == "/one/lock"
    assert found[0].score == pytest.approx(plain, abs=1e-3)
    assert alone[0].score == pytest.approx(plain, abs=0.02)


class Sentences:
    """A model that is asked over a network, and counts how often."""

    name, dimensions = "sentences", 256

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        return StaticEmbedder().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        self.asked += 1
        return StaticEmbedder().embed_query(text)


def test_a_model_of_sentences_is_asked_once_for_all_scopes(tmp_path: Path) -> None:
    model = Sentences()
    with KnowledgeBase(tmp_path, embedder=model) as base:
        base.insert([_node("one", "parse the text", f"/{number}") for number in range(3)])
        assert len(base.search.by_meaning("parse text", 5)) == 3
        assert model.asked == 1
        words, meaning = base.search.both_ways("parse text", 5, domain=Domain.CODE, scope="/1")
        assert (len(words), len(meaning), model.asked) == (1, 1, 2)
