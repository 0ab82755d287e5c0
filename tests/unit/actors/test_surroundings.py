"""What an agent is told of the repository before it looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.proving import tests_of as files_of_tests
from actors.surroundings import LISTED, SHOWN, listing, named_files, names_in, surroundings
from sylk_ray.sessions.workspace import Workspace
from tests.unit.sessions.conftest import git, new_repository

FILES = {
    "shop/prices.py": "def fmt_price(cents):\n    return str(cents)\n",
    "shop/two words.py": "from shop.prices import fmt_price\n",
    "shop/large.py": f"fmt_price\n{'#' * SHOWN}\n",
    "shop/text.py": "def slug(title):\n    return title\n",
    "readme.md": "# Shop\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo", FILES)


async def told(repo: Path, about: str, **more: list[str]) -> str:
    workspace = Workspace(repo.parent / "home", "s", "demo", repo)
    return await surroundings(workspace, git(repo, "rev-parse", "HEAD"), about, **more)


async def test_all_files_are_listed_and_those_that_are_named_are_shown(repo):
    text = await told(repo, "Mend shop/text.py.")
    assert "\n".join(sorted(FILES)) in text
    assert "shop/text.py:\n```\ndef slug(title):\n    return title\n```" in text
    assert "fmt_price" not in text


async def test_files_with_a_name_of_the_code_are_shown_as_long_as_there_is_room(repo):
    text = await told(repo, "Rename fmt_price everywhere.")
    assert "shop/prices.py:\n```" in text
    assert "shop/two words.py:\n```" in text
    assert "shop/large.py:\n" not in text


async def test_what_is_asked_for_comes_first_where_it_is_there(repo):
    text = await told(repo, "See shop/text.py.", also=["readme.md", "gone.py"])
    assert text.index("readme.md:\n```") < text.index("shop/text.py:\n```")
    assert "gone.py" not in text


async def test_an_empty_repository_has_nothing_to_tell(tmp_path):
    assert (
        await told(new_repository(tmp_path / "repo", {".gitignore": ""}), "x")
        == "# Files of the repository\n.gitignore"
    )


def test_of_many_files_the_folders_are_told():
    text = listing([f"a/{n}.py" for n in range(LISTED)] + ["b/c.py"])
    assert text.splitlines()[1:] == [f"a/ ({LISTED} files)", "b/ (1 files)"]
    assert f"There are {LISTED + 1}" in text


def test_files_are_named_by_path_or_by_a_name_that_is_theirs_alone():
    files = ["a/text.py", "b/text.py", "b/prices.py"]
    assert named_files(files, "See prices.py, ./a/text.py, text.py and a/prices.py.") == ["b/prices.py", "a/text.py"]


def test_names_of_code_are_told_from_words():
    said = "Rename `total` to sum_all where Total or fooBar calls clamp(x); ShoppingCart stays."
    assert names_in(said) == ["total", "sum_all", "fooBar", "clamp", "ShoppingCart"]
    assert names_in("Add a flag to the report command") == []


def test_the_tests_of_a_change_are_named_after_its_files():
    files = ["tests/test_text.py", "tests/test_other.py", "src/text.py"]
    assert files_of_tests(files, ["src/text.py"]) == ["tests/test_text.py"]
    assert files_of_tests(files, ["tests/test_other.py"]) == ["tests/test_other.py"]


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("shop/text.py", "tests/test_text.py"),
        ("shop/text.go", "shop/text_test.go"),
        ("src/text.ts", "src/text.spec.ts"),
        ("src/Text.java", "src/TextTests.java"),
        ("lib/a.rb", "spec/a_spec.rb"),
        ("shop/contest.py", "tests/test_contest.py"),
    ],
)
def test_a_test_is_known_by_the_whole_name_of_its_subject(changed, test):
    files = [test, "tests/__init__.py", "tests/conftest.py", "tests/test_a_context.py", "tests/helpers/textual.py"]
    assert files_of_tests(files, [changed]) == [test]


def test_a_package_has_no_test_by_its_name():
    assert files_of_tests(["tests/__init__.py", "tests/test_a.py"], ["shop/__init__.py"]) == []
