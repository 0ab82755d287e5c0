"""What a query is read as."""

from __future__ import annotations

import pytest

from sylk_ray.codebase.retrieval.question import read_question
from sylk_ray.codebase.roles import Role


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/parser.py", "src/parser.py"),
        ("what is in src/parser.py.", "src/parser.py"),
        ("how it is parsed (see src/parser.py)", "src/parser.py"),
        ("./src/../parser.py", "src/../parser.py"),
        ("/repo/src/parser.py", "src/parser.py"),
        ("types.d.ts", "types.d.ts"),
        ("user.service.ts", "user.service.ts"),
        ("webpack.config.js", "webpack.config.js"),
        (".eslintrc.js", ".eslintrc.js"),
        ("solver.f90", "solver.f90"),
        ("Dockerfile.prod", "Dockerfile.prod"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[[...slug]]/page.tsx", "app/[[...slug]]/page.tsx"),
        ("README.md?", "README.md"),
        ("(shop)/cart/page.tsx", "(shop)/cart/page.tsx"),
    ],
)
def test_a_path_is_read_whole(text: str, path: str) -> None:
    assert read_question(text, "/repo").paths == (path,)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@src/parser.py explain", ("@src/parser.py", "src/parser.py")),
        ("@types/node/index.d.ts", ("@types/node/index.d.ts", "types/node/index.d.ts")),
        ("@/components/Button.tsx", ("@/components/Button.tsx", "components/Button.tsx")),
        ("$lib/db.ts", ("$lib/db.ts", "lib/db.ts")),
        ("~~src/a.py~~", ("~~src/a.py~~", "src/a.py")),
    ],
)
def test_what_stands_around_a_path_may_be_none_of_it(text: str, paths: tuple[str, ...]) -> None:
    assert read_question(text).paths == paths


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("node.js", {"node.js"}),
        ("`./README.md`.", {"README.md"}),
        ("/repo/README.md", {"README.md"}),
        ("what is in README.md", {"README.md"}),
        ("read/write cookies in the node.js client", {"read/write"}),
        ("how does socket.io work", set()),
    ],
)
def test_a_name_with_a_dot_in_a_sentence_may_be_a_products(text: str, meant: set[str]) -> None:
    assert read_question(text, "/repo").meant == meant


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("parse", "parse"),
        ("Vec::push", "push"),
        ("ünïcode_name", "ünïcode_name"),
        ("обработка_запроса", "обработка_запроса"),
        ("$store", "$store"),
    ],
)
def test_a_name_is_read_in_any_letters(text: str, name: str) -> None:
    question = read_question(text)
    assert (question.names, question.is_name) == ((name,), True)


@pytest.mark.parametrize("text", ["查找parse_request", "parse_request的定义", "查找parse_request的定义"])
def test_a_name_within_a_writing_without_spaces_is_one(text: str) -> None:
    question = read_question(text)
    assert (question.names, question.is_name) == (("parse_request",), False)
    assert read_question("如何解析请求").names == ()


def test_of_a_sentence_only_what_is_written_as_code_is_a_name() -> None:
    question = read_question("how does read_all find what größer is, and HttpClient")
    assert (question.names, question.is_name) == (("read_all", "HttpClient"), False)


@pytest.mark.parametrize(
    ("text", "names", "is_name"),
    [
        ("parse", ("parse",), True),
        ("Parser.parse", ("parse",), True),
        ("std::vector::push", ("push",), True),
        ("where is parseRequest called", ("parseRequest",), False),
        ("how is max_size used", ("max_size",), False),
        ("how does the parser work", (), False),
        ("the HTTP server", (), False),
        ("`CookieJar`", ("CookieJar",), True),
    ],
)
def test_names_are_told_from_words(text: str, names: tuple[str, ...], is_name: bool) -> None:
    question = read_question(text)
    assert (question.names, question.is_name) == (names, is_name)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    ["a", "aA", "A", "a-", "a_", "1", "a.", "中", "a/", "x$", "a->", "a::", "[a]", "[a.", "(a)", "@", "a.b-", "a$.b"],
)
def test_a_word_of_any_length_is_read_at_once(part: str) -> None:
    assert read_question(part * 60_000).text == part * 60_000


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("what is in src/parser.py", ("src/parser.py",)),
        ("parser.py and .github/ci.yml, lib/a-b/c", ("parser.py", ".github/ci.yml", "lib/a-b/c")),
        ("a/b.py:12 (c.go)", ("a/b.py", "c.go")),
        ("read 1.5 files/s", ("files/s",)),
        ("./src/parser.py ../lib/a.py ../../b.py", ("src/parser.py", "lib/a.py", "b.py")),
        ("/home/me/repo/src/parser.py and `/src/lexer.py`", ("src/parser.py", "src/lexer.py")),
        ("/home/me/repo-2/a.py https://me.org/b.py", ("home/me/repo-2/a.py", "me.org/b.py")),
        ("how is the input parsed", ()),
    ],
)
def test_paths_are_told_from_words(text: str, paths: tuple[str, ...]) -> None:
    assert read_question(text, "/home/me/repo").paths == paths


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("tests of the parser", {Role.TEST: "test"}),
        ("parser tests", {Role.TEST: "test"}),
        ("where are the parser tests?", {Role.TEST: "test"}),
        ("find unit tests in parser", {Role.TEST: "test"}),
        ("which test covers the parser", {Role.TEST: "test"}),
        ("test cases for the parser", {Role.TEST: "test"}),
        ("show me the benchmarks", {Role.EXAMPLE: "benchmark"}),
        ("where is this documented", {Role.DOCUMENT: "document"}),
        ("what is in the Makefile", {Role.CONFIGURATION: "makefil"}),
        ("third-party compression", {Role.COPY: "parti"}),
        ("keep it in memory for tests", {}),
        ("a fake file system for unit tests", {}),
        ("time that can be replaced in the tests", {}),
        ("split the tests over several machines", {}),
        ("read json from a stream", {}),
        ("spec compliant url parser", {}),
        ("mock server", {}),
        ("example.com parser", {}),
        ("document workflow engine", {}),
        ("?!", {}),
        ("", {}),
    ],
)
def test_a_question_asks_for_a_kind_of_file_or_only_speaks_of_it(text: str, roles: dict[Role, str]) -> None:
    assert read_question(text).roles == roles


@pytest.mark.parametrize(
    ("text", "declarations"),
    [
        ("the interface that a storage has to implement", True),
        ("where is it Declared", True),
        ("header files of the client", True),
        ("type definitions of the store", True),
        ("command line interface parsing", False),
        ("bring up the network interface", False),
        ("read the header of a message", False),
    ],
)
def test_a_question_asks_for_declarations_or_not(text: str, declarations: bool) -> None:
    assert read_question(text).declarations is declarations
