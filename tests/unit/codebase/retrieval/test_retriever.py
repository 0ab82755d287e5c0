"""Searching a small repository, with the embedder that is built in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sylk_ray.codebase.indexing import Indexer
from sylk_ray.codebase.requests import Search, SearchAnswer, SmartSearch
from sylk_ray.codebase.retrieval import Retriever
from sylk_ray.codebase.retrieval.candidates import Candidates
from sylk_ray.codebase.retrieval.question import read_question
from sylk_ray.codebase.retrieval.snippets import Window, fitted, merged, narrowed, tokens_of
from sylk_ray.codebase.roles import Role, role_of
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.embedding import EmbedderUnavailable, StaticEmbedder, static
from sylk_ray.knowledge.embedding.model_file import ModelFile
from tests.unit.codebase.repository import FILES, write_repository
from tests.unit.knowledge.test_base import Letters


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_repository(tmp_path_factory.mktemp("search") / "repo")


@pytest.fixture(scope="module")
def retriever(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    with KnowledgeBase(tmp_path_factory.mktemp("known")) as base:
        Indexer(base, root).sync()
        yield Retriever(base)


def _paths(answer: SearchAnswer) -> list[str]:
    return [result.path for result in answer.results]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("where are cookies kept", "jar/store.py"),
        ("make guessing a password expensive", "jar/crypt.py"),
        ("call a server again after a timeout", "web/client.go"),
        ("Retry", "web/client.go"),
        ("CookieJar.put", "jar/store.py"),
        ("cookiejar", "jar/store.py"),
        ("jar/clock.py", "jar/clock.py"),
        ("what does hash_password do", "jar/crypt.py"),
        ("test that the oldest cookie is evicted", "tests/test_store.py"),
    ],
)
def test_the_file_that_was_meant_comes_first(retriever: Retriever, root: Path, query: str, path: str) -> None:
    assert _paths(retriever.search(Search(query=query, root=str(root))))[0] == path


def test_each_of_several_names_is_found_the_way_it_is_written(tmp_path: Path) -> None:
    for name in ("Foo", "Baz", "Qux"):
        (tmp_path / f"{name.lower()}.py").write_text(f"class {name}:\n    def run(self):\n        return 1\n")
    (tmp_path / "foo.py").write_text("class Foo:\n    def bar(self):\n        return 1\n")
    (tmp_path / "baz.py").write_text("class Baz:\n    def bar(self):\n        return 1\n")
    with KnowledgeBase(tmp_path / "known") as base:
        Indexer(base, tmp_path).sync()
        found = Candidates(base, str(tmp_path), StaticEmbedder()).find(read_question("Foo::bar, Baz::bar and Qux::run"))
    named = {each.qualified: each.named for each in found if each.named}
    assert named == {"Foo.bar": 1.0, "Baz.bar": 1.0, "Qux.run": 1.0}


def test_code_comes_before_its_tests_and_documents(retriever: Retriever, root: Path) -> None:
    paths = _paths(retriever.search(Search(query="the oldest cookie is evicted when the jar is full", root=str(root))))
    assert paths[0] == "jar/store.py"
    assert {"tests/test_store.py", "README.md"} <= set(paths)


def test_what_is_defined_comes_before_where_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "cache.h").write_text(
        "/* Evicts the oldest entry of the cache. */\nint cache_evict(struct cache *cache);\n"
    )
    (tmp_path / "cache.c").write_text(
        "/* Evicts an entry. */\nint cache_evict(struct cache *c)\n{\n  return drop(c->last);\n}\n"
    )
    (tmp_path / "store.pyi").write_text('def evict(cache):\n    """Evicts the oldest entry of a store."""\n')
    (tmp_path / "store.py").write_text("def evict(cache):\n    return cache.pop()\n")
    with KnowledgeBase(tmp_path / "known") as base:
        Indexer(base, tmp_path).sync()
        retriever = Retriever(base)

        def first(query: str) -> str:
            return _paths(retriever.search(Search(query=query, root=str(tmp_path))))[0]

        assert first("cache evict entry") == "cache.c"
        assert first("store evict") == "store.py"


def test_a_result_shows_the_lines_of_the_definition(retriever: Retriever, root: Path) -> None:
    result = retriever.search(Search(query="put a cookie into the jar of a session", root=str(root), k=1)).results[0]
    assert result.symbol == "CookieJar.put"
    assert (result.kind, result.language, result.score) == ("method", "python", 1.0)
    lines = FILES["jar/store.py"].split("\n")
    assert result.snippet == "\n".join(lines[result.start_line - 1 : result.end_line])
    assert result.why


def test_filters_narrow_what_is_found(retriever: Retriever, root: Path) -> None:
    def search(**more: object) -> SearchAnswer:
        return retriever.search(Search(query="cookies of a session", root=str(root), **more))  # type: ignore[arg-type]

    assert set(_paths(search(language="go"))) == {"web/client.go"}
    assert set(_paths(search(path="tests/**"))) == {"tests/test_store.py"}
    assert {result.kind for result in search(kind="type").results} == {"type"}
    assert {result.kind for result in search(kind="file").results} == {"file"}
    assert search(path="nowhere/**").status == "no_matches"
    assert len(search(k=2).results) == 2


def test_fewer_files_than_results_show_more_of_each(retriever: Retriever, root: Path) -> None:
    answer = retriever.search(Search(query="cookies jar", root=str(root), path="jar/store.py", k=4))
    assert len(answer.results) > 1
    taken: set[int] = set()
    for result in answer.results:
        lines = set(range(result.start_line, result.end_line + 1))
        assert not lines & taken
        taken |= lines
    assert [result.score for result in answer.results] == sorted((r.score for r in answer.results), reverse=True)


@pytest.mark.parametrize("budget", [20, 60, 200, 1000])
def test_snippets_stay_within_the_budget(retriever: Retriever, root: Path, budget: int) -> None:
    answer = retriever.search(Search(query="cookies", root=str(root), budget=budget))
    assert answer.tokens <= budget
    assert answer.tokens == sum(tokens_of(result.snippet) for result in answer.results)


def test_a_smart_search_leaves_out_what_is_faint(retriever: Retriever, root: Path) -> None:
    quick = retriever.smart_search(SmartSearch(query="hash a password", root=str(root), thoroughness="quick"))
    thorough = retriever.smart_search(SmartSearch(query="hash a password", root=str(root), thoroughness="thorough"))
    assert _paths(quick)[0] == _paths(thorough)[0] == "jar/crypt.py"
    assert len(quick.results) <= 3
    assert len(quick.results) <= len(thorough.results)
    assert quick.tokens <= quick.budget


def test_a_file_that_has_gone_since_is_left_out(retriever: Retriever, root: Path) -> None:
    moved = root / "jar/crypt.py"
    text = moved.read_text()
    moved.unlink()
    try:
        assert "jar/crypt.py" not in _paths(retriever.search(Search(query="hash a password", root=str(root))))
    finally:
        moved.write_text(text)


@pytest.mark.parametrize(
    ("path", "language", "role"),
    [
        ("src/a.py", "python", Role.CODE),
        ("tests/test_a.py", "python", Role.TEST),
        ("pkg/a_test.go", "go", Role.TEST),
        ("src/a.spec.ts", "typescript", Role.TEST),
        ("src/test/java/ATest.java", "java", Role.TEST),
        ("src/contest.py", "python", Role.CODE),
        ("src/latest/a.py", "python", Role.CODE),
        ("extras/all_amalgamated.cpp", "cpp", Role.COPY),
        ("single_include/json/json.hpp", "cpp", Role.COPY),
        ("third_party/zlib/inflate.c", "c", Role.COPY),
        ("vendor/zlib/inflate.c", "c", Role.COPY),
        ("web/jquery.min.js", "javascript", Role.COPY),
        ("tools/amalgamate.py", "python", Role.CODE),
        ("app/models/vendor/order.py", "python", Role.CODE),
        ("src/Symfony/Bundle/FrameworkBundle/Kernel.php", "php", Role.CODE),
        ("cmd/gen/main.go", "go", Role.CODE),
        ("src/dist/normal.py", "python", Role.CODE),
        ("src/generator.py", "python", Role.CODE),
        ("src/vendors.py", "python", Role.CODE),
        ("src/latest_utils/a.py", "python", Role.CODE),
        ("src/App/TestHelper/Result.cs", "csharp", Role.CODE),
        ("src/App.Tests/Door.cs", "csharp", Role.TEST),
        ("Tests/Door.swift", "swift", Role.TEST),
        ("lib/src/jvmTest/kotlin/Door.kt", "kotlin", Role.TEST),
        ("lib-testing-support/src/Door.kt", "kotlin", Role.TEST),
        ("internal/testutil/door.go", "go", Role.TEST),
        ("t/door.t", "text", Role.TEST),
        ("t/lib/Door.pm", "perl", Role.TEST),
        ("lib/Door.pm", "perl", Role.CODE),
        ("_site/door.html", "html", Role.COPY),
        ("src/t/run.pl", "perl", Role.TEST),
        (".dockerignore", "text", Role.CONFIGURATION),
        (".git-blame-ignore-revs", "text", Role.CONFIGURATION),
        ("Doxyfile.in", "text", Role.CONFIGURATION),
        ("configure.ac", "text", Role.CONFIGURATION),
        ("vendor/door/configure.ac", "text", Role.COPY),
        ("m4/door.m4", "text", Role.CONFIGURATION),
        ("src/App.Benchmarks/Door.cs", "csharp", Role.EXAMPLE),
        ("examples/a.rs", "rust", Role.EXAMPLE),
        ("docs/a.py", "python", Role.DOCUMENT),
        ("README.md", "markdown", Role.DOCUMENT),
        ("a.yaml", "yaml", Role.CONFIGURATION),
        ("src/lib.zig", "text", Role.CODE),
        ("LICENSE", "text", Role.DOCUMENT),
    ],
)
def test_a_path_tells_what_a_file_is_for(path: str, language: str, role: Role) -> None:
    assert role_of(path, language) is role


def test_windows_that_touch_are_one() -> None:
    assert merged([Window(10, 12), Window(14, 16), Window(40, 50)]) == Window(10, 16)
    assert merged([Window(10, 12), Window(1, 60)]) == Window(10, 12)


def test_a_window_is_narrowed_to_where_the_words_are() -> None:
    lines = [f"line {number}" for number in range(1, 101)]
    lines[80] = lines[81] = lines[82] = "the needle"
    assert narrowed(lines, Window(1, 100), "needle", 10).start in range(74, 82)
    assert narrowed(lines, Window(1, 100), "nothing", 10) == Window(1, 10)
    assert narrowed(lines, Window(1, 5), "needle", 10) == Window(1, 5)


def test_what_does_not_fit_is_cut_or_left_out() -> None:
    lines = ["some words of text here"] * 50
    made = fitted(lines, Window(1, 50), "text", 60)
    assert made is not None
    window, text, cost = made
    assert cost <= 60
    assert text == "\n".join(lines[: window.lines])
    assert fitted(lines, Window(1, 50), "text", 3) is None


def test_what_no_file_says_is_answered_without_a_search(root: Path, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path) as base:
        Indexer(base, root).sync()
        searched = base.search.searched
        answer = Retriever(base).search(Search(query="quantum chromodynamics", root=str(root)))
        assert (answer.status, answer.results, answer.tokens) == ("no_matches", [], 0)
        assert answer.hint
        assert base.search.searched == searched


def test_a_hit_in_a_long_line_is_shown_in_part(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "README.md").write_text("# Jar\n\n" + "cookies are kept in a jar until they are old " * 300 + "\n")
    with KnowledgeBase(tmp_path / "known") as base:
        Indexer(base, root).sync()
        for budget in (20, 400, 4000):
            answer = Retriever(base).search(Search(query="cookies", root=str(root), budget=budget))
            assert (answer.status, len(answer.results)) == ("found", 1)
            assert 0 < answer.tokens <= budget


def test_a_search_needs_neither_the_built_in_model_for_its_vectors_nor_for_its_words(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path | None = None) -> ModelFile:
        raise EmbedderUnavailable("the file is damaged")

    asked = Search(query="where are cookies kept", root=str(root))
    with KnowledgeBase(tmp_path, embedder=Letters()) as base:
        Indexer(base, root).sync()
        assert "jar/store.py" in _paths(Retriever(base).search(asked))
        monkeypatch.setattr(static, "open_model", broken)
        assert "jar/store.py" in _paths(Retriever(base).search(asked))
