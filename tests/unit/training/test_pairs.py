"""Words and the code that they are about."""

from __future__ import annotations

import pytest

from sylk_ray.codebase.reading import read
from training.embedder.cleaning import first_sentence, prose, rest, says_something
from training.embedder.crossing import Everything, words_of_test
from training.embedder.glosses import pairs_of_line
from training.embedder.harvest import is_wanted, is_written
from training.embedder.pairs import Pair, pairs_of, without

CODE = '''"""Reading of settings from files of the user."""

import os


def find_settings(folder):
    """Look for the file that holds a user's settings.

    Folders above are looked through as well, up to the root.
    """
    while folder != "/":
        # The nearest file wins over those that are further up.
        if os.path.exists(folder + "/settings"):
            return folder + "/settings"
        folder = os.path.dirname(folder)
    return None
'''


@pytest.fixture(scope="module")
def pairs() -> dict[str, Pair]:
    return {pair.kind: pair for pair in pairs_of(read("pkg/settings.py", CODE), CODE)}


def test_a_files_pairs_are_what_people_said_of_it(pairs: dict[str, Pair]) -> None:
    assert {kind: pair.query for kind, pair in pairs.items()} == {
        "doc": "Look for the file that holds a user's settings",
        "more": "Folders above are looked through as well, up to the root.",
        "name": "find settings",
        "comment": "The nearest file wins over those that are further up.",
    }


def test_a_file_with_several_definitions_is_what_it_says_of_itself() -> None:
    text = f"{CODE}\n\ndef forget_settings():\n    CACHE.clear()\n"
    [pair] = [pair for pair in pairs_of(read("pkg/settings.py", text), text) if pair.kind == "file"]
    assert pair.query == "Reading of settings from files of the user."
    assert pair.document.startswith("settings.py\npkg/settings.py\nfind_settings forget_settings\nos\n")
    assert "Reading" not in pair.document


@pytest.mark.parametrize("kind", ["doc", "more", "comment"])
def test_no_document_holds_what_is_asked_with(pairs: dict[str, Pair], kind: str) -> None:
    assert pairs[kind].query.split(",")[0].rstrip(".") not in " ".join(pairs[kind].document.split())


def test_a_document_is_what_an_index_keeps(pairs: dict[str, Pair]) -> None:
    assert pairs["doc"].document.startswith("find_settings\npkg/settings.py\ndef find_settings(folder):\n")


def test_who_asks_by_name_does_not_find_the_name(pairs: dict[str, Pair]) -> None:
    assert "find_settings" not in pairs["name"].document


@pytest.mark.parametrize(
    "documentation",
    [
        '/// <summary>\n/// Opens <see cref="Door"/> for whoever knocks.\n/// </summary>\n/// <param>How</param>',
        "/**\n * Opens a <i>Door</i> for whoever knocks.\n * @param how how\n */",
    ],
)
def test_documentation_with_tags_is_no_comment(documentation: str) -> None:
    text = (
        f"class House {{\n{documentation}\npublic void Open(int how) {{\n"
        "  // Nobody may stand in the way of it.\n  look();\n  move(how);\n  close();\n}\n}\n"
    )
    path = "House.cs" if "///" in documentation else "House.java"
    said = {(pair.kind, pair.query) for pair in pairs_of(read(path, text), text)}
    assert {query for kind, query in said if kind == "comment"} == {"Nobody may stand in the way of it."}
    assert "doc" in {kind for kind, _ in said}


def test_a_comment_within_may_begin_as_the_documentation_does() -> None:
    began = CODE.replace("# The nearest file wins", "# the file that holds\n        # more of it wins")
    said = [pair.query for pair in pairs_of(read("pkg/settings.py", began), began) if pair.kind == "comment"]
    assert said == ["the file that holds more of it wins over those that are further up."]


def test_a_comment_within_that_says_the_documentation_again_is_none() -> None:
    again = CODE.replace("# The nearest file wins over those that are further up.", "# Look for the file.")
    assert "comment" not in {pair.kind for pair in pairs_of(read("pkg/settings.py", again), again)}


def test_tests_and_examples_give_no_pairs() -> None:
    assert list(pairs_of(read("tests/test_settings.py", CODE), CODE)) == []


def test_lines_of_documentation_go_whatever_their_marks() -> None:
    code = "/**\n * Opens the door slowly.\n */\nvoid open() {\n  move();\n}"
    assert without(code, "Opens the door slowly.") == "void open() {\n  move();"


def test_lines_of_documentation_go_with_tags_and_in_raw_strings() -> None:
    tagged = '/// <summary>Opens <see cref="Door"/> slowly.</summary>\nvoid Open() {\n  List<int> moves;\n}'
    assert without(tagged, "Opens slowly.") == "void Open() {\n  List<int> moves;"
    html = '/**\n * Opens a <i>Door</i> slowly, if it\n * never was <a href="x\n * y">closed</a>.\n */\nvoid open() {'
    assert without(html, "Opens a Door slowly, if it never was closed.") == "void open() {"
    generic = "/// Turns a Vec<u8> of bytes into text\nfn turn() {\n#include <text>"
    assert (
        without(generic, "Turns a Vec<u8> of bytes into text that may include more") == "fn turn() {\n#include <text>"
    )
    raw = 'def open():\n    r"""Opens the door."""\n    r = "kept"\n'
    assert without(raw, "Opens the door.") == 'def open():\n    r = "kept"'


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        ("Opens {@code doors} <b>slowly</b>.\n@param door which", "Opens doors slowly."),
        ("Opens :class:`~a.Door` things.\n\nMore of it.", "Opens a.Door things."),
        ("\\brief Opens the [door](http://x.y).", "Opens the door."),
        ("Opens.\n\nParameters\n----------\nx : int", "Opens."),
    ],
)
def test_documentation_is_read_as_prose(doc: str, said: str) -> None:
    assert prose(doc) == said


def test_sentences_and_paragraphs_are_told_apart() -> None:
    assert first_sentence("It opens e.g. doors. Then it waits.") == "It opens e.g. doors"
    assert rest("First.\n\nSecond of them.") == "Second of them."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Opens the door when somebody knocks", True),
        ("Copyright 2020 the authors of it", False),
        ("x = y; return f(x)", False),
        ("@param door the door", False),
        ("Too short", False),
        ("Öffnet die Tür, wenn jemand klopft", False),
    ],
)
def test_only_english_prose_is_asked_with(text: str, says: bool) -> None:
    assert says_something(text) is says


def test_a_test_leads_to_what_it_tests() -> None:
    everything = Everything()
    test = "def test_find_settings_of_the_root():\n    assert 1\n"
    everything.add(read("pkg/settings.py", CODE), CODE)
    everything.add(read("tests/test_settings.py", test), test)
    [pair] = everything.pairs()
    assert (pair.kind, pair.query) == ("test", "find settings of the root")
    assert "def  (folder)" in pair.document
    assert words_of_test("test_it") == ()


def test_a_documents_section_leads_to_the_file_that_it_names() -> None:
    everything = Everything()
    readme = "# Settings\n\nWhere they lie is found out by `find_settings` before anything else happens.\n"
    everything.add(read("pkg/settings.py", CODE), CODE)
    everything.add(read("README.md", readme), readme)
    [pair] = everything.pairs()
    assert pair.kind == "section"
    assert pair.query == "Settings. Where they lie is found out by before anything else happens."
    assert pair.document.startswith("settings.py\npkg/settings.py\n")


def test_a_meaning_in_other_words_leads_to_the_word() -> None:
    line = '{ median, [ median_value, adj.all:average,+ ] statistic,@ (the value below which half of them fall; "x") }'
    [pair] = pairs_of_line(line)
    assert (pair.query, pair.document) == ("the value below which half of them fall", "median median value")
    assert list(pairs_of_line("(a comment)")) == []


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/a.py", True),
        ("src/a.rb", False),
        ("vendor/b/a.py", False),
        ("src/jquery.min.py", False),
        ("pip/requests/a.py", False),
        ("README.md", True),
    ],
)
def test_what_is_another_projects_is_not_read(path: str, wanted: bool) -> None:
    assert is_wanted(path, frozenset({"py"}), frozenset({"requests"})) is wanted


def test_what_a_program_wrote_is_not_read() -> None:
    assert not is_written("# Code generated by a program. DO NOT EDIT.\nx = 1\n")
    assert not is_written("x" * 1000)
    assert is_written(CODE)
