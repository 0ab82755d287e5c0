"""A knowledge base kept in step with files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.codebase.indexing import Indexer, Progress, external_id, file_id, indexer, package_id, readers, symbol_id
from sylk_ray.codebase.texts import lines_at
from sylk_ray.knowledge import Domain, KnowledgeBase, NodeType
from sylk_ray.knowledge.carrying import Carrier
from sylk_ray.knowledge.encoding import meaning_of
from sylk_ray.knowledge.vectors import VectorStoreFailed
from tests.unit.codebase.repository import write_repository
from tests.unit.knowledge.test_base import Letters


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "knowledge", embedder=Letters()) as opened:
        yield opened


def _edges(base: KnowledgeBase, root: Path) -> set[tuple[str, str, str]]:
    scope = str(root)
    found: set[tuple[str, str, str]] = set()
    for node in base.select(domain=Domain.CODE, scope=scope):
        for edge in base.outgoing(node.id):
            found.add((edge.source.removeprefix(scope), edge.type.value, edge.target.removeprefix(scope)))
    return found


def _state(base: KnowledgeBase, root: Path) -> tuple[object, object]:
    nodes = {
        (node.id, node.content, node.name, node.type, repr(sorted(node.metadata.items())))
        for node in base.select(domain=Domain.CODE, scope=str(root))
    }
    return nodes, _edges(base, root)


def test_a_repository_is_known_by_its_files_definitions_and_modules(base: KnowledgeBase, root: Path) -> None:
    report = Indexer(base, root).sync()
    assert (report.added, report.changed, report.removed, report.broken) == (8, 0, 0, ())
    scope = str(root)
    assert base.get(file_id(scope, "jar/store.py")).metadata["language"] == "python"
    put = base.get(symbol_id(scope, "jar/store.py", "CookieJar.put"))
    assert (put.type, put.metadata["kind"], put.metadata["start"]) == (NodeType.FUNCTION, "method", 16)
    assert base.get(external_id(scope, "hashlib")).type is NodeType.IMPORT
    assert base.get(package_id(scope, "jar")).metadata["folder"] == "jar"
    assert base.get(file_id(scope, "tests/test_store.py")).metadata["tests"] is True
    assert base.find([file_id(scope, "drafts/out.py"), file_id(scope, "noise.log")]) == {}


def test_edges_join_what_calls_imports_and_holds_what(base: KnowledgeBase, root: Path) -> None:
    Indexer(base, root).sync()
    edges = _edges(base, root)
    assert ("!jar/store.py#CookieJar.put", "calls", "!jar/clock.py#now") in edges
    assert ("!jar/store.py#CookieJar.put", "calls", "!jar/store.py#CookieJar._evict") in edges
    assert ("!jar/store.py", "imports", "!jar/clock.py") in edges
    assert ("!jar/store.py", "imports", "!!json") in edges
    assert ("!jar/store.py#CookieJar", "contains", "!jar/store.py#CookieJar.put") in edges
    assert ("!jar/", "contains", "!jar/store.py") in edges


def test_nothing_is_read_again_when_nothing_has_changed(base: KnowledgeBase, root: Path) -> None:
    indexer = Indexer(base, root)
    indexer.sync()
    before = {node.id: node.updated_at for node in base.select(domain=Domain.CODE)}
    told: list[Progress] = []
    report = Indexer(base, root).sync(progress=told.append)
    assert (report.added, report.changed, report.removed, told) == (0, 0, 0, [])
    assert {node.id: node.updated_at for node in base.select(domain=Domain.CODE)} == before


def test_what_was_stored_in_an_older_form_is_read_again(base: KnowledgeBase, root: Path) -> None:
    files = Indexer(base, root).sync().files
    assert Indexer(base, root).sync().changed == 0
    base.note(Domain.CODE, str(root), {"state:known": b""})
    (root / "jar/clock.py").unlink()
    report = Indexer(base, root).sync()
    assert (report.added, report.changed, report.removed) == (0, files - 1, 1)
    assert Indexer(base, root).sync().changed == 0


def test_what_only_declares_is_known_as_that(base: KnowledgeBase, root: Path) -> None:
    declaring = {"a.h": "int a(void);\n", "a.pyi": "def a(): ...\n", "a.d.mts": "export const a: 1\n"}
    for name, text in {**declaring, "a.py": "def a(): ...\n"}.items():
        (root / name).write_text(text)
    Indexer(base, root).sync()
    scope = str(root)
    for name in declaring:
        assert base.get(file_id(scope, name)).metadata["declares"] is True
        assert base.get(symbol_id(scope, name, "a")).metadata["declares"] is True
    assert "declares" not in base.get(file_id(scope, "a.py")).metadata


def test_a_file_as_a_whole_is_found_by_what_it_speaks_of_most(base: KnowledgeBase, root: Path) -> None:
    (root / "jar/oven.py").write_text("def bake():\n    heat('oven')\n    heat('oven')\n    rest('dough')\n")
    Indexer(base, root).sync()
    node = base.get(file_id(str(root), "jar/oven.py"))
    assert node.metadata["meant"] == "heat oven def bake rest dough"
    assert node.content == "bake"
    assert meaning_of(node) == "oven.py\njar/oven.py\nbake\nheat oven def bake rest dough"
    assert [found.node.name for found in base.search.by_words("dough")] == ["bake"]


def test_a_changed_file_is_found_as_it_is_now_and_others_stay_linked_to_it(base: KnowledgeBase, root: Path) -> None:
    indexer = Indexer(base, root)
    indexer.sync()
    (root / "jar/clock.py").write_text(
        "import time\n\n\ndef now():\n    return time.zebra()\n\n\ndef later():\n    pass\n"
    )
    report = indexer.sync(["jar/clock.py"])
    assert (report.added, report.changed, report.removed) == (0, 1, 0)
    assert [found.node.name for found in base.search.by_words("zebra")] == ["now"]
    assert ("!jar/store.py#CookieJar.put", "calls", "!jar/clock.py#now") in _edges(base, root)


def test_what_is_gone_from_a_file_is_gone_from_the_base(base: KnowledgeBase, root: Path) -> None:
    indexer = Indexer(base, root)
    indexer.sync()
    (root / "jar/clock.py").unlink()
    (root / "jar/store.py").write_text("def only():\n    pass\n")
    report = indexer.sync()
    assert (report.changed, report.removed) == (1, 1)
    names = {node.name for node in base.select(domain=Domain.CODE, types=[NodeType.FUNCTION, NodeType.TYPE])}
    assert {"only", "hash_password"} <= names
    assert not {"now", "CookieJar", "put"} & names
    assert base.find([external_id(str(root), "json")]) == {}
    assert base.verify().well


def test_a_folder_without_files_is_no_package(base: KnowledgeBase, root: Path) -> None:
    indexer = Indexer(base, root)
    indexer.sync()
    (root / "web/client.go").unlink()
    indexer.sync()
    assert base.find([package_id(str(root), "web")]) == {}


def test_progress_is_told_file_by_file(base: KnowledgeBase, root: Path) -> None:
    told: list[Progress] = []
    Indexer(base, root).sync(progress=told.append)
    assert told == [Progress("reading", 8, 8), Progress("linking", 8, 8)]


def test_files_are_taken_in_by_about_as_many_bytes(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "sizes"
    root.mkdir()
    for number, size in enumerate((30, 30, 30, 500, 10, 10, 10, 10)):
        (root / f"f{number}.py").write_text(f"a{number} = '{'x' * (size - 8)}'\n")
    monkeypatch.setattr(indexer, "TOGETHER", 3)
    monkeypatch.setattr(indexer, "BYTES_TOGETHER", 70)
    told: list[Progress] = []
    Indexer(base, root).sync(progress=told.append)
    assert [each.done for each in told if each.stage == "reading"] == [2, 3, 4, 7, 8]


def test_readers_are_told_of_a_first_indexing_alone_before_it_is_known_what_has_changed(
    base: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(indexer.Readers, "expect", lambda self, files: told.append(files))
    Indexer(base, root).sync()
    assert told[0] == 8
    told.clear()
    for path in root.rglob("*.py"):
        os.utime(path)
    Indexer(base, root).sync()
    assert told == []


@pytest.mark.parametrize("stops_at", ["reading", "linking"])
def test_an_indexing_that_was_stopped_is_finished_by_the_next(
    tmp_path: Path, root: Path, stops_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "TOGETHER", 2)
    monkeypatch.setattr(indexer, "LINKED_TOGETHER", 2)

    def stop(progress: Progress) -> None:
        if progress.stage == stops_at and progress.done >= 4:
            raise KeyboardInterrupt

    with KnowledgeBase(tmp_path / "one", embedder=Letters()) as base:
        with pytest.raises(KeyboardInterrupt):
            Indexer(base, root).sync(progress=stop)
        Indexer(base, root).sync()
        stopped = _state(base, root)
    with KnowledgeBase(tmp_path / "other", embedder=Letters()) as base:
        Indexer(base, root).sync()
        assert _state(base, root) == stopped


@pytest.mark.parametrize("together", [1, 48])
def test_a_first_indexing_gives_the_edges_that_linking_all_anew_gives(
    base: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(indexer, "TOGETHER", together)
    monkeypatch.setattr(indexer, "LINKED_TOGETHER", together)
    Indexer(base, root).sync()
    at_once = _edges(base, root)
    base.note(Domain.CODE, str(root), {f"{indexer.STATE}unlinked": b""})
    Indexer(base, root).sync()
    assert _edges(base, root) == at_once
    base.drop(Domain.CODE, str(root))
    Indexer(base, root).sync()
    assert _edges(base, root) == at_once


def test_two_roots_do_not_know_of_each_other(base: KnowledgeBase, tmp_path: Path) -> None:
    one, other = write_repository(tmp_path / "one"), write_repository(tmp_path / "other")
    Indexer(base, one).sync()
    Indexer(base, other).sync()
    base.drop(Domain.CODE, str(one))
    assert len(_edges(base, other)) > 10
    assert base.select(domain=Domain.CODE, scope=str(one)) == []


_BODIES = st.sampled_from(
    [
        "",
        "def f():\n    return g()\n",
        "from a import f\n\n\ndef g():\n    return f()\n",
        "import b\n\n\nclass C:\n    def m(self):\n        return b.g()\n",
        "from c import C\n\n\nclass D(C):\n    def g(self):\n        return self.m()\n",
        "def broken(:\n    x =\n",
    ]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), _BODIES)), min_size=1, max_size=8))
def test_step_by_step_is_the_same_as_at_once(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    root = folder / "repo"
    root.mkdir()
    counter = itertools.count()
    with KnowledgeBase(folder / "steps", embedder=Letters()) as base:
        indexer = Indexer(base, root)
        for name, body in edits:
            file = root / f"{name}.py"
            if body is None:
                file.unlink(missing_ok=True)
            else:
                file.write_text(body)
            indexer.sync([file.name] if next(counter) % 2 else None)
        steps = _state(base, root)
        assert base.verify().well
    with KnowledgeBase(folder / "once", embedder=Letters()) as base:
        Indexer(base, root).sync()
        assert _state(base, root) == steps


def test_names_and_paths_with_the_marks_of_ids_do_not_meet(base: KnowledgeBase, tmp_path: Path) -> None:
    root = tmp_path / "odd"
    root.mkdir()
    (root / "a.py").write_text("def foo(): pass\n")
    (root / "a.py#foo").write_text("def foo(): pass\n")
    (root / "b.md").write_text("# A\n\none\n\n# A\n\ntwo\n\n# A~2\n\nthree\n")
    (root / "b.md@A").write_text("text\n")
    assert Indexer(base, root).sync().added == 4
    assert base.verify().well


def test_a_file_that_could_not_be_read_is_tried_again(
    base: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = Indexer(base, root)
    with monkeypatch.context() as blind:
        at = readers.text_at
        blind.setattr(readers, "text_at", lambda folder, path: None if path == "jar/clock.py" else at(folder, path))
        indexer.sync()
    assert base.find([file_id(str(root), "jar/clock.py")]) == {}
    assert indexer.sync().added == 1
    assert base.get(symbol_id(str(root), "jar/clock.py", "now"))


def test_old_line_ends_and_encodings_are_read_as_they_are_shown(base: KnowledgeBase, tmp_path: Path) -> None:
    root = tmp_path / "old"
    root.mkdir()
    (root / "mac.py").write_bytes(b"def one():\r    pass\r\rdef two():\r    pass\r")
    (root / "latin.py").write_bytes("# Gr\xf6\xdfe\n".encode("latin-1") + b"def three():\n    pass\n" * 9)
    Indexer(base, root).sync()
    assert base.get(symbol_id(str(root), "mac.py", "two")).metadata["start"] == 4
    assert lines_at(str(root), "mac.py")[3] == "def two():"  # type: ignore[index]
    assert any("Gr\xf6\xdfe" in node.content for node in base.select(path="latin.py"))


def test_a_scope_that_was_dropped_is_indexed_anew_by_the_same_indexer(base: KnowledgeBase, root: Path) -> None:
    own = Indexer(base, root)
    own.sync()
    base.drop(Domain.CODE, own.scope)
    (root / "jar/store.py").unlink()
    assert own.sync().files == 7
    with KnowledgeBase(root.parent / "another", embedder=Letters()) as other:
        Indexer(other, root).sync()
        assert _state(base, root) == _state(other, root)


def test_after_a_removal_that_failed_half_way_the_next_time_does_it(
    base: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Indexer(base, root)
    own.sync()
    (root / "jar/store.py").unlink()

    def away(carrier: Carrier) -> int:
        raise VectorStoreFailed("the vectors are away")

    with monkeypatch.context() as patched:
        patched.setattr(Carrier, "carry", away)
        with pytest.raises(VectorStoreFailed):
            own.sync()
    assert own.sync().files == 7
    assert base.find([file_id(own.scope, "jar/store.py")]) == {}
