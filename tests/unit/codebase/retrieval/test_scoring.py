"""The order of files, as a table of what was found and what comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.codebase.retrieval.question import read_question
from sylk_ray.codebase.retrieval.scoring import Candidate, Counterparts, rank
from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge import NodeType


class Alone:
    """Candidates of which nothing else is known; or these names and edges."""

    def __init__(
        self,
        names: dict[str, Counter[str]] | None = None,
        edges: list[tuple[int, int, float]] | None = None,
        met: dict[str, Counterparts] | None = None,
    ) -> None:
        self._names = names or {}
        self._met = met or {}
        self._edges = edges or []

    def counterparts(self, text: str, chunks: Mapping[str, Sequence[int]]) -> dict[str, Counterparts]:
        return {path: self._met[path] for path in chunks if path in self._met}

    def names_in(self, paths: Sequence[str]) -> dict[str, Counter[str]]:
        return {path: self._names[path] for path in paths if path in self._names}

    def neighbours(self, keys: Collection[int]) -> list[tuple[int, int, float]]:
        return [edge for edge in self._edges if edge[0] in keys and edge[1] in keys]


def _chunk(key: int, path: str, words: float = 0.0, meaning: float = 0.0, **more: object) -> Candidate:
    given = {"type": NodeType.FUNCTION, "name": "f", "qualified": "f", "role": Role.CODE, **more}
    return Candidate(key=key, path=path, words=words, meaning=meaning, **given)  # type: ignore[arg-type]


def _order(query: str, found: list[Candidate], around: Alone | None = None) -> list[str]:
    return [each.path for each in rank(read_question(query), found, around or Alone())]


QUERY = "how is the input parsed"


@pytest.mark.parametrize(
    ("found", "first"),
    [
        ([_chunk(1, "a", 5, 0.5), _chunk(2, "b", 9, 0.5)], "b"),
        ([_chunk(1, "a", 5, 0.6), _chunk(2, "b", 5, 0.3)], "a"),
        ([_chunk(1, "a", 9), _chunk(2, "b", 8, 0.5)], "b"),
        ([_chunk(1, "a", 9), _chunk(2, "b", 8), _chunk(3, "b", 8)], "b"),
        ([_chunk(1, "test_a", 9, role=Role.TEST), _chunk(2, "b", 6)], "b"),
        ([_chunk(1, "a.md", 9, 0.9, role=Role.DOCUMENT), _chunk(2, "b", 6, 0.6)], "b"),
        ([_chunk(1, "a.h", 9, 0.5, declares=True), _chunk(2, "b", 8, 0.5)], "b"),
        ([_chunk(1, "a", 9, 0.5), _chunk(2, "b", 8, 0.5, whole=0.4)], "b"),
        ([_chunk(1, "a", 9, 0.5), _chunk(2, "b", 8, 0.5), _chunk(3, "b", 0, 0.9, type=NodeType.FILE)], "a"),
        ([_chunk(1, "a", 9, 0.5, whole=0.2), _chunk(2, "b", 8, 0.5, whole=0.4)], "b"),
    ],
)
def test_the_better_file_comes_first(found: list[Candidate], first: str) -> None:
    assert _order(QUERY, found)[0] == first
    assert _order(QUERY, found[::-1])[0] == first


def test_what_only_declares_does_not_come_after_what_defines_when_it_is_asked_for() -> None:
    found = [_chunk(1, "a.h", 9, 0.5, declares=True), _chunk(2, "b", 8, 0.5)]
    assert _order("which interface reads the input", found)[0] == "a.h"
    assert _order("what does a.h say", found)[0] == "a.h"
    of_a_type = _chunk(3, "a.h", 9, 0.5, declares=True, named=1.0, type=NodeType.TYPE)
    assert _order(QUERY, [of_a_type, *found])[0] == "a.h"
    of_a_function = _chunk(3, "a.h", 9, 0.5, declares=True, named=0.1)
    assert _order(QUERY, [of_a_function, found[1]])[0] == "b"
    assert "counts less, as it only declares" in rank(read_question(QUERY), found, Alone())[1].why


@pytest.mark.parametrize(
    ("chunks", "keys"),
    [
        ([_chunk(1, "a", 9, 0.3), _chunk(2, "a", 6, 0.5)], [2, 1]),
        ([_chunk(1, "a", 40, 0.4), _chunk(2, "a", 6, 0.5)], [1, 2]),
        ([_chunk(1, "a", 9, 0.7), _chunk(2, "a", 2, 0.4, named=1.0)], [2, 1]),
        ([_chunk(1, "a", 5), _chunk(2, "a", 7)], [2, 1]),
        ([_chunk(1, "a", 9, 0.9, type=NodeType.FILE), _chunk(2, "a", 1, 0.1)], [2, 1]),
    ],
)
def test_what_means_what_is_asked_comes_first_in_a_file(chunks: list[Candidate], keys: list[int]) -> None:
    for found in (chunks, chunks[::-1]):
        [file] = rank(read_question(QUERY), found, Alone())
        assert [chunk.key for chunk in file.chunks] == keys


def test_tests_come_first_when_they_are_asked_for() -> None:
    found = [_chunk(1, "test_a", 9, role=Role.TEST), _chunk(2, "b", 6)]
    assert _order("tests of the parser", found) == ["test_a", "b"]


@pytest.mark.parametrize(
    ("query", "names", "first"),
    [
        ("tests of the parser", {}, "test_a"),
        ("keep it in memory for tests", {}, "b"),
        ("read json from a stream", {}, "b"),
        ("tests for the same seed", {}, "test_a"),
        ("tests for the same seed", {f"c{n}": Counter({"test": 3}) for n in range(4)}, "b"),
        ("tests for the same seed", {f"c{n}": Counter({"test": 3}) for n in range(3)}, "test_a"),
    ],
)
def test_a_word_for_tests_means_tests_where_they_are_asked_for_and_are_not_what_all_is_about(
    query: str, names: dict[str, Counter[str]], first: str
) -> None:
    found = [_chunk(1, "test_a", 9, role=Role.TEST), _chunk(2, "b", 8), _chunk(3, "c.json", 9, role=Role.CONFIGURATION)]
    found += [_chunk(4 + number, f"c{number}", 1) for number in range(7)]
    assert _order(query, found, Alone(names))[0] == first


def test_one_name_of_few_does_not_say_what_a_repository_is_about() -> None:
    found = [_chunk(1, "test_a", 9, role=Role.TEST), _chunk(2, "b", 8), _chunk(3, "c", 8)]
    names = {"b": Counter({"test": 1, "connect": 1}), "c": Counter({"test": 1})}
    assert _order("tests of the parser", found, Alone(names))[0] == "test_a"


def test_a_copy_comes_after_the_code_unless_it_is_asked_for() -> None:
    found = [_chunk(1, "all.c", 9, role=Role.COPY), _chunk(2, "b", 6)]
    assert _order(QUERY, found) == ["b", "all.c"]
    assert _order("the vendored parser", found) == ["all.c", "b"]


def test_a_file_with_a_counterpart_of_each_word_comes_before_one_without() -> None:
    found = [_chunk(1, "a", 9, 0.5), _chunk(2, "b", 8.9, 0.5)]
    assert _order(QUERY, found) == ["a", "b"]
    assert _order(QUERY, found, Alone(met={"a": Counterparts(0.2, 0.5), "b": Counterparts(0.2, 0.9)})) == ["b", "a"]
    assert _order(QUERY, found, Alone(met={"a": Counterparts(0.2, 0.5), "b": Counterparts(0.8, 0.5)})) == ["b", "a"]


def test_what_the_best_file_uses_is_lifted() -> None:
    found = [_chunk(1, "a", 10, 0.5), _chunk(2, "b", 5, 0.4), _chunk(3, "c", 5.1, 0.4)]
    assert _order(QUERY, found) == ["a", "c", "b"]
    assert _order(QUERY, found, Alone(edges=[(1, 2, 0.9)])) == ["a", "b", "c"]


def test_the_file_that_defines_the_name_comes_before_those_that_say_it() -> None:
    found = [_chunk(1, "uses", 9, 0.6), _chunk(2, "defines", 3, 0.3, named=1.0, name="Parser")]
    assert _order("Parser", found) == ["defines", "uses"]


def test_a_path_that_is_asked_for_comes_first() -> None:
    found = [_chunk(1, "src/other.py", 9, 0.6), _chunk(2, "src/parser.py", 1)]
    assert _order("what is in src/parser.py", found)[0] == "src/parser.py"


@pytest.mark.parametrize(
    ("asked", "what", "told"),
    [
        ("src/user.spec.ts", {"role": Role.TEST}, "is a test"),
        ("src/user.d.ts", {"declares": True}, "is the path that was asked for"),
        ("docs/user.md", {"role": Role.DOCUMENT}, "is a document"),
        ("examples/user.ts", {"role": Role.EXAMPLE}, "is an example"),
    ],
)
def test_a_path_that_is_asked_for_counts_fully_whatever_it_is(asked: str, what: dict[str, object], told: str) -> None:
    found = [_chunk(1, "src/user.ts", 9, 0.9, named=1.0), _chunk(2, asked, 5, 0.5, **what)]
    first = rank(read_question(asked), found, Alone())[0]
    assert first.path == asked
    assert told in first.why
    assert not any(why.startswith("counts less") for why in first.why)


def test_a_name_with_a_dot_in_a_sentence_may_be_no_file() -> None:
    found = [_chunk(1, "src/client.js", 9, 0.9), _chunk(2, "test/node.js", 2, 0.3, role=Role.TEST)]
    assert _order("keep cookies in the node.js client", found)[0] == "src/client.js"
    assert _order("read/write cookies in the node.js client", found)[0] == "src/client.js"
    assert _order("keep cookies in test/node.js", found)[0] == "test/node.js"
    assert _order("node.js", found)[0] == "test/node.js"


def test_a_file_that_neither_says_nor_means_anything_of_it_is_no_answer() -> None:
    found = [_chunk(1, "src/a.py", 9, 0.6), _chunk(2, "src/far.py", 0, -0.1), _chunk(3, "src/near.py", 0, 0.1)]
    assert _order(QUERY, found) == ["src/a.py", "src/near.py"]
    others = [_chunk(4, "src/named.py", named=1.0), _chunk(5, "src/whole.py", whole=0.2)]
    assert sorted(_order(QUERY, others)) == ["src/named.py", "src/whole.py"]
    assert _order("src/far.py", found)[0] == "src/far.py"
    assert _order(QUERY, found[1:2]) == []


def test_a_files_own_node_is_shown_last() -> None:
    found = [_chunk(1, "a", 9, type=NodeType.FILE), _chunk(2, "a", 3)]
    [ranked] = rank(read_question(QUERY), found, Alone())
    assert [chunk.key for chunk in ranked.chunks] == [2, 1]


_CANDIDATES = st.lists(
    st.builds(
        _chunk,
        st.integers(1, 10**6),
        st.sampled_from(["a", "b", "c/d", "e"]),
        st.floats(0, 50),
        st.floats(-1, 1),
    ),
    max_size=20,
    unique_by=lambda chunk: chunk.key,
)


@given(_CANDIDATES)
def test_every_file_is_ranked_once_whatever_was_found_and_in_whatever_order(found: list[Candidate]) -> None:
    ranked = rank(read_question(QUERY), found, Alone())
    answers = {chunk.path for chunk in found if chunk.words > 0 or chunk.meaning > 0}
    assert sorted(each.path for each in ranked) == sorted(answers)
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert [each.path for each in rank(read_question(QUERY), found[::-1], Alone())] == [each.path for each in ranked]
