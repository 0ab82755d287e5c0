"""A Librarian's skills: on a real index of a small repository, and on answers that are too long for a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from actors.skills.curating import MOST_TOKENS, DomainResult
from actors.skills.librarian import Ask, librarian_skills
from sylk_ray.codebase.requests import (
    AnyAnswer,
    AnyRequest,
    Dependency,
    DependencyGraph,
    Files,
    FileText,
    GetFile,
    Index,
    Outlined,
    Result,
    SearchAnswer,
    SymbolFound,
    Symbols,
    Usage,
    Usages,
)
from sylk_ray.codebase.service import CodeService
from sylk_ray.errors import SylkError
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.skills import Registry, SkillLoader, call, count_tokens
from sylk_ray.skills.errors import InvalidArguments

FILES = {
    "shop/orders.py": '''"""Orders of the shop."""

from shop.store import Store

LIMIT = 10


class Order:
    """One order."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def total(self, tax: float) -> float:
        """Add up the prices of all lines and the tax."""
        return sum(self.store.load()) + tax


def place_order(store: Store) -> Order:
    """Make an order and count it."""
    order = Order(store)
    order.total(0.2)
    return order
''',
    "shop/store.py": '''"""Where prices are kept."""


class Store:
    """Keeps prices in a file."""

    def load(self) -> list[float]:
        """Read all prices from the disk."""
        return []

    def unused(self) -> None:
        """Nobody calls it."""
''',
    "README.md": "# Shop\n\nSells things.\n\n## Refunds\n\nA refund is given within a week.\n",
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ask, str]]:
    root = tmp_path_factory.mktemp("shop").resolve()
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with KnowledgeBase(tmp_path_factory.mktemp("known")) as base:
        service = CodeService(base)
        service.handle(Index(root=str(root)))

        async def ask(request: AnyRequest) -> AnyAnswer:
            return service.handle(request)

        yield ask, str(root)


def use(ask: Ask, root: str, called: str, elsewhere: Any = None, /, **arguments: Any) -> dict[str, Any]:
    skill = Registry(librarian_skills(ask, root, elsewhere)).get(called)
    told = asyncio.run(call(skill, json.dumps(arguments), None))
    return json.loads(told)


def answering(*answers: AnyAnswer) -> Ask:
    """Answers in this order, the last one again and again."""
    left = list(answers)

    async def ask(request: AnyRequest) -> AnyAnswer:
        return left.pop(0) if len(left) > 1 else left[0]

    return ask


def test_a_symbol_is_found_with_its_place_and_signature(indexed: tuple[Ask, str]) -> None:
    told = use(*indexed, "find_symbol", name="Order.total")
    assert told["status"] == "found"
    assert "shop/orders.py:14-16 method Order.total: def total(self, tax: float) -> float" in told["text"]


def test_kinds_are_the_specifications(indexed: tuple[Ask, str]) -> None:
    assert "LIMIT" in use(*indexed, "find_symbol", name="LIMIT", kind="const")["text"]
    assert use(*indexed, "find_symbol", name="LIMIT", kind="type")["status"] == "no_matches"
    with pytest.raises(InvalidArguments):
        use(*indexed, "find_symbol", name="LIMIT", kind="constant")


def test_a_name_that_is_nearly_right_is_told(indexed: tuple[Ask, str]) -> None:
    assert use(*indexed, "find_symbol", name="place_ordr") == {
        "status": "no_matches",
        "hint": "Did you mean place_order?",
    }


def test_code_is_found_by_what_it_does_with_what_stands_there(indexed: tuple[Ask, str]) -> None:
    text = use(*indexed, "search_code", query="add up prices and tax")["text"]
    assert text.startswith("shop/orders.py:")
    assert "return sum(self.store.load()) + tax" in text


def test_a_search_keeps_to_a_file_pattern(indexed: tuple[Ask, str]) -> None:
    text = use(*indexed, "search_code", query="prices", file_pattern="**/store.py")["text"]
    assert "shop/store.py" in text
    assert "orders.py" not in text


def test_lines_of_a_file_are_read(indexed: tuple[Ask, str]) -> None:
    told = use(*indexed, "get_file", path="shop/orders.py", start_line=5, end_line=5)
    assert told["text"] == "shop/orders.py, lines 5-5 of 24\nLIMIT = 10"


def test_a_file_that_is_not_indexed_is_an_error_with_a_hint(indexed: tuple[Ask, str]) -> None:
    with pytest.raises(SylkError) as raised:
        use(*indexed, "get_file", path="shop/nothing.py")
    assert raised.value.hint


def test_files_are_listed_by_a_glob(indexed: tuple[Ask, str]) -> None:
    assert use(*indexed, "list_files", pattern="*.py")["text"] == "shop/orders.py\nshop/store.py"
    assert use(*indexed, "list_files", pattern="*.rs")["status"] == "no_matches"


def test_the_structure_of_a_file_is_indented_and_that_of_a_folder_is_by_file(indexed: tuple[Ask, str]) -> None:
    one = use(*indexed, "get_structure", path="shop/store.py")["text"].split("\n")
    assert one[1].endswith("class Store")
    assert one[2].startswith("  ")
    assert (
        use(*indexed, "get_structure", path="shop")["text"]
        == "shop/orders.py: Order, place_order\nshop/store.py: Store"
    )


def test_a_files_symbols_have_their_lines(indexed: tuple[Ask, str]) -> None:
    assert "8-16 type Order" in use(*indexed, "get_file_symbols", path="shop/orders.py")["text"].split("\n")
    with pytest.raises(SylkError) as raised:
        use(*indexed, "get_file_symbols", path="shop")
    assert "get_structure" in (raised.value.hint or "")


def test_a_symbol_is_got_with_its_source(indexed: tuple[Ask, str]) -> None:
    text = use(*indexed, "get_symbol", name="Store.load")["text"]
    assert text.startswith("shop/store.py:7-9 method Store.load")
    assert text.endswith("        return []")


def test_usages_say_where_and_how(indexed: tuple[Ask, str]) -> None:
    text = use(*indexed, "find_usages", symbol="Order.total")["text"]
    assert "shop/orders.py:22 calls in place_order: order.total(0.2)" in text
    assert use(*indexed, "find_usages", symbol="Store.unused") == {
        "status": "no_matches",
        "hint": "Nothing uses Store.unused, defined in shop/store.py:11.",
    }


def test_imports_are_told_in_both_directions(indexed: tuple[Ask, str]) -> None:
    text = use(*indexed, "analyze_imports", package="shop/store.py")["text"]
    assert "<- shop/orders.py" in text


def test_dependencies_and_dependents_are_the_two_ends_of_an_edge(indexed: tuple[Ask, str]) -> None:
    assert "calls shop/store.py#Store.load" in use(*indexed, "get_dependencies", symbol="Order.total")["text"]
    assert "calls shop/orders.py#Order.total" in use(*indexed, "get_dependents", symbol="Store.load")["text"]
    assert "shop/orders.py#place_order calls" in use(*indexed, "get_dependents", symbol="Store.load", depth=2)["text"]


def test_similar_symbols_are_definitions(indexed: tuple[Ask, str]) -> None:
    told = use(*indexed, "find_similar_symbols", symbol="Order.total")
    assert "Order.total" not in told["text"].split("\n")[0].split(":")[1]
    assert "shop/" in told["text"]


def test_a_smart_search_says_what_it_used_of_its_budget(indexed: tuple[Ask, str]) -> None:
    told = use(*indexed, "smart_search", query="where are prices read from the disk", budget=300)
    assert told["budget"] == 300
    assert told["tokens_used"] == count_tokens(told["text"]) <= 300


def test_a_search_of_all_domains_groups_by_domain(indexed: tuple[Ask, str]) -> None:
    asked: list[tuple[str, int]] = []

    async def history(query: str, budget: int) -> DomainResult:
        asked.append((query, budget))
        return DomainResult(status="no_matches", count=0)

    told = use(*indexed, "search_all", {"history": history}, query="prices")
    assert told["results"]["code"]["status"] == "found"
    assert told["results"]["history"] == {"status": "no_matches", "count": 0}
    assert asked == [("prices", MOST_TOKENS // 2)]


LONG = "some words of a line that goes on and on = and_is_long(for_ever)"


def results(count: int, lines: int) -> SearchAnswer:
    snippet = "\n".join([LONG] * lines)
    return SearchAnswer(
        query="q",
        status="found",
        took_ms=1,
        tokens=9,
        also_exists_in=["history"],
        results=[
            Result(
                path=f"src/deep/file{number}.py",
                start_line=1,
                end_line=lines,
                symbol=f"Holder.method{number}",
                kind="method",
                language="python",
                score=1 - number / 100,
                why=[],
                snippet=snippet,
            )
            for number in range(count)
        ],
    )


def symbols(count: int) -> list[SymbolFound]:
    return [
        SymbolFound(
            path=f"src/deep/file{number}.py",
            start_line=number,
            end_line=number + 9,
            symbol=f"holder_{number}",
            kind="method",
            language="python",
            signature=LONG,
            doc=LONG,
        )
        for number in range(count)
    ]


USAGES = Usages(
    name="x",
    definitions=symbols(3),
    usages=[
        Usage(path=f"a{n}.py", line=n, within="f", how="calls", of=f"src/a{n % 2}.py#x", confidence=1, text=LONG)
        for n in range(100)
    ],
)
GRAPH = DependencyGraph(
    name="x",
    reverse=False,
    roots=["a.py#x"],
    edges=[
        Dependency(source="a.py#x", target=f"src/deep/{n}.py#Holder.method", how="imports", confidence=1, depth=1)
        for n in range(200)
    ],
)
TEXT = FileText(path="a.py", start_line=1, end_line=500, lines=500, text="\n".join([LONG] * 500))


@pytest.mark.parametrize(
    ("name", "arguments", "answers"),
    [
        ("search_code", {"query": "q"}, [results(10, 40)]),
        ("search_code", {"query": "q"}, [results(80, 2)]),
        ("search_all", {"query": "q"}, [results(10, 40)]),
        ("smart_search", {"query": "q", "budget": 700}, [results(20, 40)]),
        ("find_symbol", {"name": "x"}, [Symbols(name="x", symbols=symbols(100))]),
        ("get_symbol", {"name": "x"}, [Symbols(name="x", symbols=symbols(20)), TEXT]),
        ("find_similar_symbols", {"symbol": "x"}, [Symbols(name="x", symbols=symbols(50))]),
        ("find_usages", {"symbol": "x"}, [USAGES]),
        ("get_file", {"path": "a.py"}, [TEXT]),
        ("list_files", {"pattern": "*"}, [Files(paths=[f"src/deep/folder/file{n}.py" for n in range(500)])]),
        ("get_structure", {"path": "src"}, [Outlined(path="src", files={f"f{n}.py": symbols(5) for n in range(99)})]),
        ("get_structure", {"path": "a.py"}, [Outlined(path="a.py", files={"a.py": symbols(200)})]),
        ("get_file_symbols", {"path": "a.py"}, [Outlined(path="a.py", files={"a.py": symbols(200)})]),
        ("analyze_imports", {"package": "x"}, [GRAPH]),
        ("get_dependencies", {"symbol": "x"}, [GRAPH]),
        ("get_dependents", {"symbol": "x"}, [GRAPH]),
    ],
)
def test_an_answer_has_at_most_eight_hundred_tokens_and_uses_them(
    name: str, arguments: dict[str, Any], answers: list[AnyAnswer]
) -> None:
    told = use(answering(*answers), "/root", name, **arguments)
    text = told["results"]["code"]["results"] if name == "search_all" else told["text"]
    assert MOST_TOKENS // 2 < count_tokens(text) <= MOST_TOKENS


EMPTY_SEARCH = SearchAnswer(query="q", status="no_matches", took_ms=0, tokens=0, also_exists_in=["history"], results=[])


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("search_code", {"query": "q"}, EMPTY_SEARCH),
        ("smart_search", {"query": "q"}, EMPTY_SEARCH),
        ("find_symbol", {"name": "x"}, Symbols(name="x", symbols=[])),
        ("get_symbol", {"name": "x"}, Symbols(name="x", symbols=[])),
        ("find_similar_symbols", {"symbol": "x"}, Symbols(name="x", symbols=[])),
        ("find_usages", {"symbol": "x"}, Usages(name="x", definitions=[], usages=[])),
        ("list_files", {"pattern": "x"}, Files(paths=[])),
        ("get_structure", {"path": "x"}, Outlined(path="x", files={"x": []})),
        ("get_dependencies", {"symbol": "x"}, DependencyGraph(name="x", reverse=False, roots=[], edges=[])),
        ("analyze_imports", {"package": "x"}, DependencyGraph(name="x", reverse=False, roots=[], edges=[])),
    ],
)
def test_that_there_is_nothing_costs_about_thirty_tokens(
    name: str, arguments: dict[str, Any], answer: AnyAnswer
) -> None:
    told = use(answering(answer), "/root", name, **arguments)
    assert told["status"] == "no_matches"
    assert told["hint"]
    assert count_tokens(json.dumps(told)) <= 40


def test_other_domains_that_know_the_words_are_named() -> None:
    assert use(answering(EMPTY_SEARCH), "/root", "search_code", query="q")["also_exists_in"] == ["history"]
    assert use(answering(results(1, 1)), "/root", "search_code", query="q")["also_exists_in"] == ["history"]


def test_every_result_is_named_before_any_is_shown_in_full() -> None:
    text = use(answering(results(10, 40)), "/root", "search_code", query="q")["text"]
    assert all(f"file{number}.py:1-40 Holder.method{number}" in text for number in range(10))
    assert LONG in text


def test_a_long_file_says_where_to_go_on() -> None:
    text = use(answering(TEXT), "/root", "get_file", path="a.py")["text"]
    head, *lines = text.split("\n")
    assert head == f"a.py, lines 1-{len(lines)} of 500; go on with start_line={len(lines) + 1}"


def test_zero_lines_mean_the_whole_file() -> None:
    asked: list[AnyRequest] = []

    async def ask(request: AnyRequest) -> AnyAnswer:
        asked.append(request)
        return TEXT

    use(ask, "/root", "get_file", path="a.py")
    assert asked == [GetFile(path="a.py", root="/root")]


def test_the_core_skills_are_the_specifications_and_the_rest_comes_when_it_is_talked_of() -> None:
    loader = SkillLoader(Registry(librarian_skills(answering(Files(paths=[])), "/root")))
    assert {each.name for each in loader.loaded()} == {"find_symbol", "search_code", "get_file"}
    loader.load_for("who are the callers of this")
    assert "find_usages" in {each.name for each in loader.loaded()}
