"""How searches are measured: scores by hand, and questions that do not contain their own answer."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.search_quality import fetching, questions
from benchmarks.search_quality.asked import Place, Question
from benchmarks.search_quality.questions import Tree, first_sentence, tree_of
from benchmarks.search_quality.recalling import Commit, commits_in
from benchmarks.search_quality.scoring import of_definitions, of_files, of_hits
from benchmarks.search_quality.searchers import Bm25, Grep

PYTHON = '''"""A shop."""


def total(lines, tax):
    """Adds up all the lines and then the tax.

    More of it.
    """
    found = 0
    for line in lines:
        found += line
    return found + tax


def helper():
    return 1
'''
JAVASCRIPT = """/**
 * Reads every price that stands in a file.
 * @param {string} path
 */
function readPrices(path) {
  const text = open(path);
  const lines = text.split('x');
  return lines;
}
"""
README = "# Shop\n\nUse `total` for all that has to be added up in the end. See `nothing`.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "shop.py").write_text(PYTHON)
    (tmp_path / "prices.js").write_text(JAVASCRIPT)
    (tmp_path / "README.md").write_text(README)
    return tree_of("shop", tmp_path)


@pytest.mark.parametrize(
    ("hits", "relevant", "ndcg", "mrr", "recall"),
    [
        ([True], 1, 1.0, 1.0, 1.0),
        ([False, True], 1, 0.6309, 0.5, 1.0),
        ([True, False, True], 2, 0.9197, 1.0, 1.0),
        ([False] * 10 + [True], 1, 0.0, 0.0, 0.0),
        ([], 3, 0.0, 0.0, 0.0),
        ([True], 2, 0.6131, 1.0, 0.5),
    ],
)
def test_scores_are_those_of_the_textbook(
    hits: list[bool], relevant: int, ndcg: float, mrr: float, recall: float
) -> None:
    found = of_hits(hits, relevant)
    assert (found.ndcg, found.mrr, found.recall) == pytest.approx((ndcg, mrr, recall), abs=1e-4)


def test_a_file_counts_once_and_a_definition_by_its_first_line() -> None:
    question = Question(repository="r", language="python", kind="docstring", text="t", files=("a.py",), line=7)
    found = [Place("b.py"), Place("b.py", 9, 12), Place("a.py", 8, 9), Place("a.py", 1, 7), Place("a.py", 5, 9)]
    assert of_files(question, found).mrr == 1 / 2
    definition = of_definitions(question, found)
    assert definition is not None
    assert (definition.mrr, definition.recall) == (1 / 4, 1.0)


def test_a_docstring_that_is_asked_with_is_not_in_what_is_searched(tree: Tree) -> None:
    asked = questions.from_docstrings(tree)
    assert {(each.text, each.files, each.language) for each in asked} == {
        ("Adds up all the lines and then the tax", ("shop.py",), "python"),
        ("Reads every price that stands in a file", ("prices.js",), "javascript"),
    }
    assert "Adds up" not in tree.texts["shop.py"]
    assert "Reads every" not in tree.texts["prices.js"]
    assert "return found + tax" in tree.texts["shop.py"]
    lines = {each.files[0]: tree.texts[each.files[0]].split("\n")[each.line - 1] for each in asked}
    assert lines == {"shop.py": "def total(lines, tax):", "prices.js": "function readPrices(path) {"}


def test_a_readmes_sentence_is_asked_without_the_name_in_it(tree: Tree) -> None:
    [asked] = questions.from_readmes(tree)
    assert (asked.text, asked.files) == ("Use for all that has to be added up in the end", ("shop.py",))


def test_names_that_are_defined_once_are_asked_for(tree: Tree) -> None:
    assert {(each.text, each.files) for each in questions.from_names(tree)} <= {
        ("total", ("shop.py",)),
        ("helper", ("shop.py",)),
        ("readPrices", ("prices.js",)),
    }
    assert questions.from_names(tree) == questions.from_names(tree) != []


def test_a_file_is_asked_for_by_the_end_of_its_path_that_is_its_own(tmp_path: Path) -> None:
    for path in ("a/shop.py", "b/shop.py", "b/c/prices.d.ts", "Makefile"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    asked = questions.from_paths(questions.tree_of("shops", tmp_path))
    assert {(each.text, each.files) for each in asked} == {
        ("a/shop.py", ("a/shop.py",)),
        ("b/shop.py", ("b/shop.py",)),
        ("prices.d.ts", ("b/c/prices.d.ts",)),
    }


def test_a_commit_is_asked_for_the_code_that_it_changed(tree: Tree, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    git("add", "shop.py", "README.md")
    git("commit", "--quiet", "-m", "feat(shop): prices are added up")
    git("add", "prices.js")
    git("commit", "--quiet", "-m", "chore: nothing that is asked for")
    [asked] = questions.from_commits(tree, tmp_path)
    assert (asked.text, asked.files) == ("prices are added up", ("shop.py",))


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        ("Return the ``name`` of [the](x) thing that is meant. And more.", "Return the of the thing that is meant"),
        ("Too short.", ""),
        (
            "First line goes on\n    in the next one, and ends.\n\nNot this.",
            "First line goes on in the next one, and ends",
        ),
    ],
)
def test_a_first_sentence_is_plain(doc: str, said: str) -> None:
    assert first_sentence(doc) == said


@pytest.mark.parametrize("searcher", [Bm25, Grep])
def test_the_plain_searchers_find_what_has_the_words(searcher: type[Bm25] | type[Grep]) -> None:
    found = searcher({"shop.py": PYTHON, "prices.js": JAVASCRIPT}).search("the price of each file", 10)
    assert found[0].path == "prices.js"


def test_every_package_is_pinned_and_permissively_licensed() -> None:
    listed = fetching.packages()
    assert len({each.name for each in listed}) == len(listed) >= 12
    assert {each.licence for each in listed} <= {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC"}
    assert all(each.version[0].isdigit() for each in listed)


def test_the_questions_by_hand_are_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jq").mkdir()
    [(name, folder, asked)] = questions.by_hand(tmp_path)
    assert "71 of 72 repositories are not in" in capsys.readouterr().err
    assert (name, folder) == ("jqlang/jq", tmp_path / "jq")
    assert {each.language for each in asked} <= {"c", "cpp", "jq", "text", ""}
    assert all(each.text and each.files for each in asked)


def test_it_is_known_which_commit_each_question_by_hand_is_about() -> None:
    asked, revisions = (
        [line.split("\t") for line in path.read_text("utf-8").splitlines() if line[0] != "#"]
        for path in (questions.BY_HAND, questions.REVISIONS)
    )
    assert {line[0] for line in asked} == {repository for repository, _ in revisions}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit in revisions)


def test_a_good_half_of_the_first_questions_by_hand_is_kept_and_later_repositories_are_apart(tmp_path: Path) -> None:
    lines = [line.split("\t") for line in questions.BY_HAND.read_text("utf-8").splitlines() if line[0] != "#"]
    for repository in {line[0] for line in lines}:
        (tmp_path / repository.rpartition("/")[2]).mkdir()
    parts_of = {
        name: Counter(each.kind.split(": ")[0] for each in some) for name, _, some in questions.by_hand(tmp_path)
    }
    asked = sum(parts_of.values(), Counter())
    assert asked.total() == len(lines)
    assert set(asked) == {"hand, developed", "hand, kept", "hand, fresh", "hand, seen", "hand, held", "hand, test"}
    assert asked["hand, kept"] + asked["hand, developed"] >= 200
    assert asked["hand, kept"] >= asked["hand, developed"]
    assert asked["hand, fresh"] >= 100
    assert asked["hand, test"] >= 200
    for name, parts in parts_of.items():
        assert parts.keys() <= {"hand, developed", "hand, kept"} or len(parts) == 1, name


def test_what_a_commit_says_is_asked_for_by_its_first_line_and_does_not_have_it() -> None:
    told = "The queue was read before it was locked, so two workers could take the same job at the same time."
    messages = [
        f"Lock the queue first (#12)\1* Lock the queue first (#12)\n\n{told}\n\nCo-authored-by: A <a@b.c>",
        f"Lock the queue again\1{told}",
        "Release the lock\1Short.",
        f"Typo\1{told[4:]}",
    ]
    assert commits_in("\0\n".join(messages)) == [Commit("Lock the queue first", told)]
