"""Requests and answers about a small repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sylk_ray.codebase import requests as of
from sylk_ray.codebase.errors import NoSuchFile, NoSuchFolder, NotIndexed
from sylk_ray.codebase.globs import InvalidGlob
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import Domain, KnowledgeBase
from tests.unit.codebase.repository import write_repository
from tests.unit.knowledge.test_base import Letters


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_repository(tmp_path / "repo"))


@pytest.fixture
def service(tmp_path: Path, root: str) -> Iterator[CodeService]:
    with KnowledgeBase(tmp_path / "knowledge", embedder=Letters()) as base:
        made = CodeService(base)
        made.handle(of.Index(root=root))
        yield made


@pytest.fixture
def ask(service: CodeService) -> Any:
    def asked(request: of.AnyRequest) -> Any:
        answer = service.handle(request)
        wire = msgspec.msgpack.encode(answer)
        assert msgspec.msgpack.decode(wire, type=of.AnyAnswer) == answer
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=of.AnyRequest) == request
        return answer

    return asked


def test_a_symbol_is_found_by_its_name_and_by_the_way_to_it(ask: Any, root: str) -> None:
    for name in ("put", "CookieJar.put", "jar/store.py#CookieJar.put", "cookiejar.PUT".replace("PUT", "put")):
        found = ask(of.FindSymbol(name=name, root=root)).symbols
        assert [(each.path, each.symbol, each.kind) for each in found] in (
            [("jar/store.py", "CookieJar.put", "method")],
            [],
        )
    [put] = ask(of.FindSymbol(name="CookieJar.put", root=root)).symbols
    assert (put.start_line, put.signature) == (16, "def put(self, session, cookie)")
    assert ask(of.FindSymbol(name="LIMIT", root=root, kind="constant")).symbols[0].start_line == 6
    assert ask(of.FindSymbol(name="LIMIT", root=root, kind="function")).symbols == []


def test_a_name_that_is_misspelt_is_told_its_neighbours(ask: Any, root: str) -> None:
    answer = ask(of.FindSymbol(name="CokieJar", root=root))
    assert (answer.symbols, answer.near[0]) == ([], "CookieJar")


def test_a_name_in_another_case_is_found(ask: Any, root: str) -> None:
    assert ask(of.FindSymbol(name="cookiejar", root=root)).symbols[0].symbol == "CookieJar"


def test_usages_say_where_how_and_how_sure(ask: Any, root: str) -> None:
    answer = ask(of.FindUsages(name="now", root=root))
    assert [each.symbol for each in answer.definitions] == ["now"]
    calls = [use for use in answer.usages if use.how == "calls"]
    assert [(use.path, use.within, use.text) for use in calls] == [
        ("jar/store.py", "CookieJar.put", "self.cookies[session] = (now(), cookie)")
    ]
    assert calls[0].confidence >= 0.85


def test_a_module_from_elsewhere_has_usages_too(ask: Any, root: str) -> None:
    assert [use.path for use in ask(of.FindUsages(name="hashlib", root=root)).usages] == ["jar/crypt.py"]


def test_dependencies_go_both_ways_and_deep(ask: Any, root: str) -> None:
    def targets(**more: Any) -> set[str]:
        found = ask(of.Dependencies(root=root, **more))
        return {edge.source if found.reverse else edge.target for edge in found.edges}

    assert {"jar/clock.py#now", "json"} <= targets(name="jar/store.py")
    assert "time" not in targets(name="jar/store.py#CookieJar.put")
    assert "tests/test_store.py" in targets(name="CookieJar", reverse=True)
    near = targets(name="jar/clock.py#now", reverse=True)
    far = targets(name="jar/clock.py#now", reverse=True, depth=2)
    assert near < far
    assert ask(of.Dependencies(name="nobody", root=root)).roots == []


def test_similar_symbols_are_others(ask: Any, root: str) -> None:
    found = ask(of.SimilarSymbols(name="CookieJar.put", root=root, k=3)).symbols
    assert 0 < len(found) <= 3
    assert "CookieJar.put" not in [each.symbol for each in found]


def test_structure_is_of_a_file_or_a_folder(ask: Any, root: str) -> None:
    file = ask(of.Structure(path="jar/store.py", root=root)).files
    assert [each.symbol for each in file["jar/store.py"]][:3] == ["LIMIT", "CookieJar", "CookieJar.__init__"]
    assert set(ask(of.Structure(path="jar/", root=root)).files) == {
        "jar/__init__.py",
        "jar/clock.py",
        "jar/crypt.py",
        "jar/store.py",
    }
    assert "web/client.go" in ask(of.Structure(path=".", root=root)).files
    with pytest.raises(NoSuchFile):
        ask(of.Structure(path="nowhere", root=root))


def test_files_are_listed_by_globs(ask: Any, root: str) -> None:
    assert ask(of.ListFiles(pattern="*.go", root=root)).paths == ["web/client.go"]
    assert ask(of.ListFiles(pattern="jar/*.py", root=root, limit=2)).paths == ["jar/__init__.py", "jar/clock.py"]
    assert ask(of.ListFiles(pattern="*.rs", root=root)).paths == []
    for pattern in ("web/**", "/web/**", "./web/**", f"{root}/web/**"):
        assert ask(of.ListFiles(pattern=pattern, root=root)).paths == ["web/client.go"]
        assert {each.path for each in ask(of.Search(query="retry", root=root, path=pattern)).results} == {
            "web/client.go"
        }
    assert ask(of.ListFiles(pattern="./*.md", root=root)).paths == ["README.md"]
    assert ask(of.ListFiles(pattern=f"{root}-other/web/**", root=root)).paths == []


def test_lines_of_a_file_are_given_within_its_bounds(ask: Any, root: str) -> None:
    answer = ask(of.GetFile(path="jar/clock.py", root=root, start_line=6, end_line=999))
    assert (answer.start_line, answer.text.split("\n")[0]) == (6, "def now():")


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "drafts/out.py", "jar/../../x", ".git/config"])
def test_only_what_is_indexed_is_given(ask: Any, root: str, path: str) -> None:
    Path(root).parent.joinpath("outside.py").write_text("secret")
    with pytest.raises(NoSuchFile):
        ask(of.GetFile(path=path, root=root))


def test_a_path_is_explained(ask: Any, root: str) -> None:
    assert ask(of.Explain(path="jar/store.py", root=root)).counts
    left_out = ask(of.Explain(path="drafts/out.py", root=root))
    assert (left_out.counts, left_out.rule) == (False, ".gitignore:1: drafts/")


def test_what_is_forgotten_is_not_known(ask: Any, root: str) -> None:
    assert ask(of.Known(root=root)).known
    assert ask(of.Forget(root=root)).nodes > 20
    assert not ask(of.Known(root=root)).known
    with pytest.raises(NotIndexed) as caught:
        ask(of.Search(query="x", root=root))
    assert "sylk index" in caught.value.hint


def test_a_folder_that_is_not_there_is_named(ask: Any, root: str) -> None:
    with pytest.raises(NoSuchFolder, match="nowhere"):
        ask(of.Index(root=f"{root}/nowhere"))


def test_an_empty_folder_is_indexed_all_the_same(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert ask(of.Index(root=str(tmp_path / "empty"))).files == 0
    assert ask(of.Search(query="x", root=str(tmp_path / "empty"))).status == "no_matches"


def test_everything_is_counted_verified_and_vacuumed(ask: Any, root: str) -> None:
    stats = ask(of.Stats())
    assert stats.roots == {root: sum(stats.nodes["code"].values())}
    assert stats.vectors["code"] > 10
    assert ask(of.Verify()).well
    assert ask(of.Vacuum()).after > 0
    assert ask(of.Search(query="cookie", root=root)).results


def test_a_link_that_took_a_files_place_is_not_followed(ask: Any, root: str) -> None:
    file = Path(root, "jar/clock.py")
    file.unlink()
    file.symlink_to("/etc/passwd")
    with pytest.raises(NoSuchFile):
        ask(of.GetFile(path="jar/clock.py", root=root))
    found = ask(of.Search(query="now", root=root))
    assert all("root:" not in result.snippet for result in found.results)


@pytest.mark.parametrize("pattern", ["!", "[z-a]"])
def test_a_pattern_that_is_none_is_named(ask: Any, root: str, pattern: str) -> None:
    with pytest.raises(InvalidGlob):
        ask(of.ListFiles(pattern=pattern, root=root))
    with pytest.raises(InvalidGlob):
        ask(of.Search(query="cookie", root=root, path=pattern))


def test_lines_end_after_they_begin(ask: Any, root: str) -> None:
    answer = ask(of.GetFile(path="jar/clock.py", root=root, start_line=3, end_line=-1))
    assert (answer.start_line, answer.end_line) == (3, 3)


def test_the_same_file_by_other_ways_is_one_file(ask: Any, root: str) -> None:
    Path(root, "new.py").write_text("def fresh(): pass\n")
    ask(of.Index(root=root, only=["./new.py", "jar/../new.py", f"{root}/new.py", "/etc/passwd"]))
    assert ask(of.ListFiles(pattern="new.py", root=root)).paths == ["new.py"]
    assert len(ask(of.FindSymbol(name="fresh", root=root)).symbols) == 1


def test_every_line_that_uses_a_name_is_told(ask: Any, root: str) -> None:
    Path(root, "often.py").write_text(
        "from jar.clock import now\n\n\ndef often():\n    now()\n    later = now()\n    return now()\n"
    )
    ask(of.Index(root=root))
    usages = ask(of.FindUsages(name="now", root=root)).usages
    assert [use.line for use in usages if use.path == "often.py" and use.how == "calls"] == [5, 6, 7]


def test_a_knowledge_base_within_a_root_is_no_part_of_it(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    for _ in range(3):
        with KnowledgeBase(root / "state/knowledge", embedder=Letters()) as base:
            CodeService(base).handle(of.Index(root=str(root)))
            assert [path for path in base.paths(Domain.CODE, str(root)) if path.startswith("state")] == []
