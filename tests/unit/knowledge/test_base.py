"""The knowledge base as a whole: SQLite, vectors and graph in step."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from sylk_ray.knowledge import KnowledgeBase, QueryConstraints, SearchFilter
from sylk_ray.knowledge.embedding import EmbedderUnavailable
from sylk_ray.knowledge.embedding.embedder import Vectors, to_units
from sylk_ray.knowledge.model import Domain, Edge, EdgeType, Node, NodeType
from sylk_ray.knowledge.store import DuplicateNode, UnknownNode, outbox
from sylk_ray.knowledge.vectors import Equals, StoreInUse, Within


class Letters:
    """An embedder whose vectors are how often each letter occurs, so that neighbours can be told by eye."""

    dimensions = 26

    def __init__(self, name: str = "letters", works: bool = True) -> None:
        self.name = name
        self.works = works

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.works:
            raise EmbedderUnavailable("the service is away")
        rows = np.zeros((len(texts), 26), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    row[ord(letter) - ord("a")] += 1
        return to_units(rows)

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])[0]


@pytest.fixture
def known(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "knowledge", embedder=Letters()) as base:
        yield base


def _code(id: str, content: str = "", **more: object) -> Node:
    given = {"type": NodeType.FUNCTION, "scope": "/repo", "content": content, **more}
    return Node(id=id, domain=Domain.CODE, **given)  # type: ignore[arg-type]


def _names(found: Sequence[object]) -> list[str]:
    return [each.node.id for each in found]  # type: ignore[attr-defined]


def test_what_was_inserted_is_found_by_id_by_meaning_by_words_and_by_graph(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa bbbb"), _code("2", "cccc"), _code("3", "dddd")])
    known.connect([Edge(source="1", target="2", type=EdgeType.CALLS)])
    key = known.get("1").key
    assert _names(known.search.by_meaning("aabb", 1, gated=False)) == ["1"]
    assert _names(known.search.by_words("cccc", 1)) == ["2"]
    assert list(known.graph.neighbours(key)) == [known.get("2").key]


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        base.insert([_code("1", "aaaa"), _code("2", "bbbb")])
        base.connect([Edge(source="1", target="2", type=EdgeType.CALLS)])
        base.delete(["2"])
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        assert _names(base.search.by_meaning("ab", 10, gated=False)) == ["1"]
        assert base.statistics().edges == {}
        assert base.statistics().pending == 0


def test_one_at_a_time_owns_a_directory_and_is_named(tmp_path: Path) -> None:
    with (
        KnowledgeBase(tmp_path, embedder=Letters()) as base,
        pytest.raises(StoreInUse, match=f"process {os.getpid()} has opened {tmp_path}"),
    ):
        KnowledgeBase(tmp_path, embedder=Letters())
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        assert base.select() == []


def test_a_change_of_content_changes_what_finds_it(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa"), _code("2", "bbbb")])
    known.update(_code("1", "cccc"))
    assert _names(known.search.by_words("aaaa")) == []
    assert _names(known.search.by_meaning("c", 1, gated=False)) == ["1"]
    with pytest.raises(UnknownNode):
        known.update(_code("9"))


def test_put_says_what_is_new_or_different(known: KnowledgeBase) -> None:
    assert [node.id for node in known.put([_code("1", "aaaa"), _code("2", "bbbb")])] == ["1", "2"]
    assert [node.id for node in known.put([_code("1", "aaaa"), _code("2", "cccc"), _code("3", "d")])] == ["3", "2"]
    assert known.put([_code("1", "aaaa")]) == []
    assert _names(known.search.by_words("bbbb")) == []


def test_of_a_batch_that_is_refused_nothing_is_found(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    with pytest.raises(DuplicateNode):
        known.insert([_code("2", "bbbb"), _code("1", "aaaa")])
    assert _names(known.search.by_meaning("b", 10, gated=False)) == ["1"]
    assert known.find(["2"]) == {}


def test_a_batch_that_fails_leaves_neither_nodes_nor_vectors_nor_graph(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    known.graph.load_all()

    def fail() -> None:
        with known.batch():
            known.insert([_code("2", "bbbb")])
            known.connect([Edge(source="1", target="2", type=EdgeType.CALLS)])
            known.delete(["1"])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _names(known.search.by_meaning("ab", 10, gated=False)) == ["1"]
    assert known.graph.size == (1, 0)


def test_without_its_embedder_nothing_is_stored(tmp_path: Path) -> None:
    embedder = Letters(works=False)
    with KnowledgeBase(tmp_path, embedder=embedder) as base:
        with pytest.raises(EmbedderUnavailable):
            base.insert([_code("1", "aaaa")])
        assert base.select() == []
        embedder.works = True
        base.insert([_code("1", "aaaa")])


def test_what_is_not_to_be_embedded_is_found_by_id_alone(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")], embed=False)
    assert known.search.by_meaning("aaaa", gated=False) == []
    assert known.get("1").content == "aaaa"


def test_a_search_finds_only_what_it_may(known: KnowledgeBase) -> None:
    known.insert(
        [
            _code("1", "aaaa", path="src/a/x.py", metadata={"language": "python"}),
            _code("2", "aaaa", path="src/ab.go", metadata={"language": "go"}),
            _code("3", "aaaa", path="src/a/x.py", type=NodeType.TYPE),
            _code("4", "zzzz", scope="/other"),
        ]
    )
    search = partial(known.search.by_meaning, gated=False)
    assert sorted(_names(search("a", scope="/repo"))) == ["1", "2", "3"]
    assert sorted(_names(search("a", only=SearchFilter(where=Within("src/a"))))) == ["1", "3"]
    assert _names(search("a", only=SearchFilter(where=Equals("language", "go")))) == ["2"]
    assert _names(search("a", only=SearchFilter(types=frozenset({NodeType.TYPE})))) == ["3"]
    assert "4" not in _names(search("a", only=SearchFilter(min_similarity=0.5)))
    assert _names(search("z", 1)) == ["4"]


def test_a_dropped_scope_is_gone_and_the_others_stay(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa"), _code("2", "aaaa", scope="/other")])
    known.graph.load_all()
    assert known.drop(Domain.CODE, "/repo") == 1
    assert _names(known.search.by_meaning("a", 10, gated=False)) == ["2"]
    assert known.graph.size == (1, 0)
    known.insert([_code("1", "aaaa")])
    assert sorted(_names(known.search.by_meaning("a", 10, gated=False))) == ["1", "2"]


def test_several_domains_are_searched_at_once(known: KnowledgeBase) -> None:
    known.insert(
        [
            _code("code", "aaab"),
            Node(id="past", domain=Domain.HISTORY, type=NodeType.DECISION, scope="s", content="aaaa"),
            Node(id="book", domain=Domain.ACADEMIC, type=NodeType.DOC, scope="lib", content="zzzz"),
        ]
    )
    assert _names(known.search.over_domains("a", 2)) == ["past", "code"]
    assert _names(known.search.over_domains("a", 9, [Domain.ACADEMIC])) == ["book"]


def test_the_graph_brings_what_meaning_alone_does_not_and_says_on_which_way(known: KnowledgeBase) -> None:
    known.insert(
        [
            _code("handler", "aaaa"),
            _code("helper", "qqqq"),
            _code("far", "wwww"),
            Node(id="session", domain=Domain.HISTORY, type=NodeType.SESSION, scope="s", content="xxxx"),
        ]
    )
    known.connect(
        [
            Edge(source="handler", target="helper", type=EdgeType.CALLS),
            Edge(source="helper", target="far", type=EdgeType.CALLS, weight=0.5),
            Edge(source="session", target="handler", type=EdgeType.MODIFIED),
        ]
    )
    both = (Domain.CODE, Domain.HISTORY)
    found = known.search.hybrid("a", QueryConstraints(domains=both, alpha=0.5, seeds=1, depth=2))
    scores = {each.node.id: each for each in found}
    assert _names(found)[0] == "handler"
    assert scores["helper"].graph_score == pytest.approx(0.7)
    assert scores["far"].graph_score == pytest.approx(0.7 * 0.5 * 0.7)
    assert scores["far"].score == pytest.approx(0.5 * scores["far"].graph_score)
    assert [node.id for node in scores["far"].path] == ["handler", "helper", "far"]
    assert len(scores["far"].edges) == 2
    assert scores["session"].domain_path == (Domain.CODE, Domain.HISTORY)
    assert _names(known.search.hybrid("a", QueryConstraints(alpha=1.0, seeds=1, min_score=0.5))) == ["handler"]
    assert "far" not in _names(known.search.hybrid("a", QueryConstraints(depth=1, seeds=1)))


def test_entries_of_the_outbox_are_forgotten_when_the_vectors_are_on_the_disk(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    assert known.statistics().pending == 1
    known.flush()
    assert known.statistics().pending == 0


def test_an_entry_that_a_crash_has_left_is_carried_out_on_opening(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        base.insert([_code("1", "aaaa")])
        base.flush()
        rows = outbox.Change(remove=[base.get("1").key])
        outbox.note(base._database, Domain.CODE, "/repo", rows)  # noqa: SLF001 - what a crash leaves
        base._carrier.flush()  # noqa: SLF001
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        assert base.search.by_meaning("a", gated=False) == []


def test_progress_is_told_for_large_batches(known: KnowledgeBase) -> None:
    told: list[tuple[int, int]] = []
    known.insert([_code(str(n), "abc") for n in range(1200)], progress=lambda done, of: told.append((done, of)))
    assert told == [(512, 1200), (1024, 1200), (1200, 1200)]


def test_a_whole_base_is_verified(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    known.insert([_code("2", "bbbb")], embed=False)
    assert known.verify().well


def test_vectors_that_were_lost_and_strays_are_found_and_mended(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa"), _code("2", "bbbb"), _code("3", "cccc")])
    vectors = known._collections.of(Domain.CODE)  # noqa: SLF001 - behind its back
    lost = known.get("2").key
    [stray] = vectors.get("/repo", [known.get("1").key])
    vectors.delete("/repo", [lost])
    vectors.upsert("/repo", [replace(stray, key=999)])
    found = known.verify()
    [disagreement] = found.disagreements
    assert (disagreement.missing, disagreement.stray) == ((lost,), (999,))
    assert known.mend(found) == 2
    assert known.verify().well
    assert _names(known.search.by_meaning("b", 1, gated=False)) == ["2"]


def test_another_models_vectors_serve_until_they_are_made_anew(tmp_path: Path) -> None:
    old, new = Letters("old"), Letters("new")
    with KnowledgeBase(tmp_path, embedder=old) as base:
        base.insert([_code("1", "aaaa"), _code("2", "bbbb")])
    with KnowledgeBase(tmp_path, embedder=new, former=[old]) as base:
        assert base.outdated() == [(Domain.CODE, "/repo")]
        assert _names(base.search.by_meaning("b", 1, gated=False)) == ["2"]
        base.insert([_code("3", "cccc")])

        def meanwhile(done: int, of: int) -> None:
            assert (done, of) == (3, 3)
            base.insert([_code("4", "dddd")])
            base.update(_code("1", "eeee"))
            base.delete(["2"])
            assert _names(base.search.by_meaning("c", 1, gated=False)) == ["3"]

        base.renew(Domain.CODE, "/repo", progress=meanwhile)
        assert base.outdated() == []
        assert base.verify().well
        assert sorted(_names(base.search.by_meaning("d", 10, gated=False))) == ["1", "3", "4"]
        assert _names(base.search.by_meaning("e", 1, gated=False)) == ["1"]


def test_without_the_former_model_words_are_still_searched(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, embedder=Letters("old")) as base:
        base.insert([_code("1", "aaaa")])
    with KnowledgeBase(tmp_path, embedder=Letters("new")) as base:
        assert base.search.by_meaning("a", gated=False) == []
        assert _names(base.search.by_words("aaaa")) == ["1"]
        base.renew(Domain.CODE, "/repo")
        assert _names(base.search.by_meaning("a", gated=False)) == ["1"]


def test_a_renewal_that_fails_leaves_the_old_vectors(tmp_path: Path) -> None:
    old, new = Letters("old"), Letters("new", works=False)
    with KnowledgeBase(tmp_path, embedder=old) as base:
        base.insert([_code("1", "aaaa")])
    with KnowledgeBase(tmp_path, embedder=new, former=[old]) as base:
        with pytest.raises(EmbedderUnavailable):
            base.renew(Domain.CODE, "/repo")
        assert _names(base.search.by_meaning("a", gated=False)) == ["1"]
        new.works = True
        base.renew(Domain.CODE, "/repo")
        assert base.outdated() == []


def test_deleted_room_is_given_back(known: KnowledgeBase) -> None:
    known.insert([_code(str(n), "abc " * 500) for n in range(500)])
    known.flush()
    before = known.statistics().bytes
    known.delete([str(n) for n in range(490)])
    known.vacuum()
    assert known.statistics().bytes < before / 4
    assert len(known.search.by_meaning("a", 100, gated=False)) == 10


class Wide(Letters):
    """As long as it says, whatever that is."""

    def __init__(self, name: str, dimensions: int, gives: int | None = None) -> None:
        super().__init__(name)
        self.dimensions = dimensions
        self._gives = gives or dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        return to_units(np.pad(super().embed(texts), ((0, 0), (0, 64)))[:, : self._gives])


def test_after_a_renewal_nothing_of_the_old_model_is_left_to_be_carried_out(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, embedder=Letters("old")) as base:
        base.insert([_code("1", "aaaa")])
    with KnowledgeBase(tmp_path, embedder=Letters("new"), former=[Letters("old")]) as base:
        base.insert([_code("2", "bbbb")])
        base.renew(Domain.CODE, "/repo")
        assert base.statistics().pending == 0


def test_vectors_of_the_shipped_model_are_made_again_after_a_crash_and_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as crashed, KnowledgeBase(tmp_path) as base:
        crashed.setattr(base._carrier, "carry", lambda: 0)  # noqa: SLF001
        base.insert([_code("1", "where orders are shipped"), _code("2", "how the total is rounded")])
        base.put([_code("1", "where orders are packed")])
        base.delete(["2"])
        assert [len(entry.change.put) for entry in outbox.pending(base._database)] == [0, 0, 0]  # noqa: SLF001
    with KnowledgeBase(tmp_path) as base:
        assert [found.node.id for found in base.search.by_meaning("packed orders", 5)] == ["1"]
        assert [found.node.id for found in base.search.by_words("packed", 5)] == ["1"]
        assert base.search.by_words("shipped", 5) == []
        assert base.verify().well


def test_what_a_crash_left_for_another_model_is_encoded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as crashed, KnowledgeBase(tmp_path, embedder=Wide("old", 8)) as base:
        crashed.setattr(base._carrier, "carry", lambda: 0)  # noqa: SLF001
        base.insert([_code("1", "aaaa"), _code("2", "bbbb")])
    with KnowledgeBase(tmp_path, embedder=Wide("new", 32)) as base:
        assert base.verify().well
        assert _names(base.search.by_meaning("b", 1, gated=False)) == ["2"]


def test_vectors_of_another_width_are_refused_before_anything_is_stored(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, embedder=Wide("odd", 8, gives=9)) as base:
        with pytest.raises(EmbedderUnavailable, match="shape"):
            base.insert([_code("1", "aaaa")])
        assert base.select() == []
    with KnowledgeBase(tmp_path, embedder=Wide("odd", 8)) as base:
        base.insert([_code("1", "aaaa")])


def test_a_part_of_a_batch_that_fails_leaves_nothing_when_it_is_caught(known: KnowledgeBase) -> None:
    with known.batch():
        known.insert([_code("1", "aaaa")])
        with pytest.raises(DuplicateNode):
            known.insert([_code("2", "bbbb"), _code("1", "cccc")])
    assert [node.id for node in known.select()] == ["1"]
    assert known.verify().well


def test_a_node_that_is_embedded_no_more_is_not_found_and_the_other_way_round(known: KnowledgeBase) -> None:
    known.put([_code("1", "aaaa")])
    known.put([_code("1", "aaaa")], embed=False)
    assert known.search.by_words("aaaa") == []
    assert known.verify().well
    known.put([_code("1", "aaaa")])
    assert _names(known.search.by_words("aaaa")) == ["1"]
    known.update(_code("1", "bbbb"), embed=False)
    assert known.verify().well


def test_threads_that_ended_leave_no_connection(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    for _ in range(30):
        asking = threading.Thread(target=known.get, args=("1",))
        asking.start()
        asking.join()
    gc.collect()
    assert len(known._database._opened) <= 3  # noqa: SLF001


def test_while_the_embedder_is_away_words_are_searched(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa")])
    assert isinstance(known.embedder, Letters)
    known.embedder.works = False
    words, meaning = known.search.both_ways("aaaa", 5, domain=Domain.CODE, scope="/repo")
    assert (len(words), meaning) == (1, [])


def test_by_meaning_the_best_of_further_filters_are_found_too(known: KnowledgeBase) -> None:
    known.insert([_code("1", "aaaa"), _code("2", "aaab"), _code("3", "zzzz", type=NodeType.FILE)])
    files = SearchFilter(types=frozenset({NodeType.FILE}))
    _, nearest = known.search.both_ways("aaaa", 1, domain=Domain.CODE, scope="/repo")
    _, also = known.search.both_ways("aaaa", 1, domain=Domain.CODE, scope="/repo", also=[files])
    keys = {node.id: node.key for node in known.select(domain=Domain.CODE)}
    assert [hit.key for hit in nearest] == [keys["1"]]
    assert [hit.key for hit in also] == [keys["1"], keys["3"]]


def test_all_edges_from_one_node_to_another_are_removed_at_once(known: KnowledgeBase) -> None:
    known.insert([_code("1"), _code("2")])
    known.connect([Edge(source="1", target="2", type=kind) for kind in (EdgeType.CALLS, EdgeType.REFERENCES)])
    known.connect([Edge(source="2", target="1", type=EdgeType.CALLS)])
    assert known.disconnect_between("1", "2") == 2
    assert [(edge.source, edge.target) for edge in known.outgoing("2")] == [("2", "1")]
    assert known.outgoing("1") == []


def test_the_graph_forgets_what_it_saw_of_a_batch_that_failed(known: KnowledgeBase) -> None:
    known.insert([_code("1")])
    key = known.get("1").key

    def fail() -> None:
        with known.batch():
            known.insert([_code("2")])
            known.connect([Edge(source="1", target="2", type=EdgeType.CALLS)])
            assert len(known.graph.neighbours(key)) == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert known.graph.neighbours(key) == {}
    assert known.graph.size == (1, 0)
