"""The gate of a knowledge base: it never denies what is stored, and says no to what is not."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sylk_ray.knowledge import Domain, KnowledgeBase, Node, NodeType, QueryConstraints, SearchFilter
from sylk_ray.knowledge.gate import MAYBE, Gate, No, Reader
from sylk_ray.knowledge.guarding import guard as guarding
from sylk_ray.knowledge.store import generations
from sylk_ray.knowledge.vectors import Equals, Within

from .test_base import Letters


def open_base(directory: Path) -> KnowledgeBase:
    return KnowledgeBase(directory, embedder=Letters())


def abandon(base: KnowledgeBase) -> None:
    """As a killed process leaves it: nothing more is written, and the locks are gone."""
    guards = base.guards
    guards._closing.set()  # noqa: SLF001 - there is no public way to die
    if guards._builder is not None:  # noqa: SLF001
        guards._builder.join()  # noqa: SLF001
    base._collections.close()  # noqa: SLF001
    base._database.close()  # noqa: SLF001
    base._ownership.release()  # noqa: SLF001


@pytest.fixture
def known(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_base(tmp_path) as base:
        yield base


def node(name: str, content: str, domain: Domain = Domain.CODE, scope: str = "/repo", **more: object) -> Node:
    kind = {
        Domain.CODE: NodeType.FUNCTION,
        Domain.HISTORY: NodeType.DECISION,
        Domain.ACADEMIC: NodeType.DOC,
    }[domain]
    return Node(id=name, domain=domain, type=kind, scope=scope, content=content, **more)  # type: ignore[arg-type]


def refused(base: KnowledgeBase, text: str, domain: Domain = Domain.CODE) -> bool:
    return isinstance(base.allows(domain, text), No)


def fail(base: KnowledgeBase, given: Node) -> None:
    """Store it in a batch that is not committed."""

    def failing() -> None:
        with base.batch():
            base.insert([given])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()


def test_a_miss_does_not_reach_the_vectors(known: KnowledgeBase) -> None:
    known.insert([node("1", "def parse_config")])
    search = known.search
    assert search.by_words("kubernetes") == search.by_meaning("kubernetes") == search.over_domains("kubernetes") == []
    assert search.hybrid("kubernetes", QueryConstraints(domains=tuple(Domain))) == []
    assert search.by_words("config", scope="/elsewhere") == []
    assert search.by_words("config", only=SearchFilter(where=Equals("language", "go"))) == []
    assert search.searched == 0
    assert [found.node.id for found in search.by_words("config")] == ["1"]
    assert search.searched == 1


def test_what_is_asked_past_the_gate_reaches_the_vectors(known: KnowledgeBase) -> None:
    known.insert([node("1", "aaab")])
    assert [found.node.id for found in known.search.by_meaning("ab", gated=False)] == ["1"]
    assert known.search.by_words("kubernetes", gated=False) == []
    assert known.search.searched == 2


def test_each_domain_says_what_it_has_and_only_those_that_may_have_something_are_searched(
    known: KnowledgeBase,
) -> None:
    known.insert([node("code", "mailbox"), node("past", "mailbox was full", Domain.HISTORY, "s")])
    before = known.search.searched
    answers = known.search_all("mailbox", 5)
    assert {domain: (each.status, each.count) for domain, each in answers.items()} == {
        Domain.CODE: ("found", 1),
        Domain.HISTORY: ("found", 1),
        Domain.ACADEMIC: ("no_matches", 0),
    }
    assert known.search.searched == before + 2
    assert answers[Domain.ACADEMIC].hint
    assert known.also_exists_in("mailbox", Domain.CODE) == [Domain.HISTORY]
    assert known.also_exists_in("full", Domain.CODE) == [Domain.HISTORY]
    assert known.also_exists_in("full", Domain.HISTORY) == []


def test_conditions_that_nothing_meets_are_refused(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser", path="src/a.py")])
    assert known.allows(Domain.CODE, "parser", Within("src")) is MAYBE
    assert isinstance(known.allows(Domain.CODE, "parser", Within("docs")), No)


def test_after_closing_the_gate_is_there_at_once(tmp_path: Path) -> None:
    with open_base(tmp_path) as base:
        base.insert([node("1", "parser", path="src/a.py")])
    with open_base(tmp_path) as base:
        assert refused(base, "kubernetes")
        assert base.allows(Domain.CODE, "parser", Within("src")) is MAYBE
        assert isinstance(base.allows(Domain.CODE, "parser", Within("docs")), No)
        base.insert([node("2", "kubernetes")])
        assert not refused(base, "kubernetes")
        assert not refused(base, "parser")


def test_after_a_crash_everything_is_let_through_until_the_gate_is_built_again(tmp_path: Path) -> None:
    base = open_base(tmp_path)
    base.insert([node("1", "parser")])
    base.flush()
    base.insert([node("2", "mailbox")])
    abandon(base)
    with open_base(tmp_path) as base:
        assert base.guards.numbers()[Domain.CODE].sure is False
        assert not refused(base, "kubernetes")
        base.guards.rebuild()
        assert refused(base, "kubernetes")
        assert not refused(base, "mailbox")
    with open_base(tmp_path) as base:
        assert base.guards.numbers()[Domain.CODE].sure is True


def test_a_question_has_it_built_again_in_the_background(tmp_path: Path) -> None:
    base = open_base(tmp_path)
    base.insert([node("1", "parser")])
    abandon(base)
    with open_base(tmp_path) as base:
        base.allows(Domain.CODE, "kubernetes")
        builder = base.guards._builder  # noqa: SLF001 - to wait for it
        assert builder is not None
        builder.join()
        assert refused(base, "kubernetes")


@pytest.mark.parametrize(
    "damage", [lambda body: body[:-3], lambda body: body[:200] + b"\0" + body[201:], lambda _: b""]
)
def test_a_damaged_file_is_not_used(tmp_path: Path, damage) -> None:
    with open_base(tmp_path) as base:
        base.insert([node("1", "parser " + " ".join(f"word{n}" for n in range(200)))])
    [file] = tmp_path.glob("gate/code.gate")
    file.write_bytes(damage(file.read_bytes()))
    with open_base(tmp_path) as base:
        assert not refused(base, "parser")
        base.guards.rebuild()
        assert refused(base, "kubernetes")
        assert not refused(base, "parser")


def test_a_file_of_other_nodes_is_not_used_though_as_much_was_written(tmp_path: Path) -> None:
    with open_base(tmp_path / "base") as base:
        base.insert([node("1", "parser")])
    shutil.copytree(tmp_path / "base", tmp_path / "copy")
    with open_base(tmp_path / "base") as base:
        base.insert([node("2", "mailbox")])
    with open_base(tmp_path / "copy") as base:
        base.insert([node("2", "kubernetes")])
    shutil.copy(tmp_path / "base" / "gate" / "code.gate", tmp_path / "copy" / "gate" / "code.gate")
    with open_base(tmp_path / "copy") as base:
        assert not refused(base, "kubernetes")


def test_a_file_that_cannot_be_written_hinders_nothing(tmp_path: Path) -> None:
    (tmp_path / "gate").write_text("in the way")
    with open_base(tmp_path) as base:
        base.insert([node("1", "parser")])
        base.flush()
        assert refused(base, "kubernetes")
    with open_base(tmp_path) as base:
        assert [found.node.id for found in base.search.by_words("parser")] == ["1"]


def test_much_that_is_pending_is_built_into_the_filter(known: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "PENDING_KEYS", 100)
    known.insert([node("1", " ".join(f"word{n}" for n in range(200)))])
    builder = known.guards._builder  # noqa: SLF001 - to wait for it
    assert builder is not None
    builder.join()
    assert known.guards.numbers()[Domain.CODE].pending == 0
    assert not refused(known, "word7")
    assert refused(known, "kubernetes")


def test_what_was_deleted_is_forgotten_when_all_is_read_again(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser"), node("2", "mailbox")])
    known.flush()
    known.delete(["1"])
    assert not refused(known, "parser")
    known.guards.rebuild()
    assert refused(known, "parser")
    assert not refused(known, "mailbox")


def test_what_is_written_while_all_is_read_again_is_not_lost(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser"), node("2", "mailbox")])
    known.flush()
    known.delete(["1"])
    guards = known.guards
    stored = guards._stored  # noqa: SLF001 - to be slowed down

    def slowly(domain: Domain):
        yield from stored(domain)
        if domain is Domain.CODE:
            known.insert([node("3", "parser")])

    guards._stored = slowly  # type: ignore[method-assign]  # noqa: SLF001
    guards.rebuild()
    assert not refused(known, "parser")
    assert guards.numbers()[Domain.CODE].sure


def test_a_transaction_of_which_nobody_knows_how_it_ended_is_not_denied(
    known: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.insert([node("1", "parser")])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(known.guards, "written", interrupted)
        with pytest.raises(KeyboardInterrupt):
            known.insert([node("2", "mailbox")])
    assert not refused(known, "mailbox")
    known.guards.rebuild()
    assert not refused(known, "mailbox")
    assert refused(known, "kubernetes")


def test_readers_learn_what_only_reading_the_store_has_told(
    known: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.insert([node("1", "parser")])
    known.guards.rebuild()
    reader = Reader()
    follow(known, reader)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(known.guards, "written", interrupted)
        with pytest.raises(KeyboardInterrupt):
            known.insert([node("2", "mailbox")])
    assert Domain.CODE not in known.guards.snapshots()
    known.guards.rebuild()
    follow(known, reader)
    gate = Gate({"code": reader})
    assert gate.check("code", "mailbox") is MAYBE
    assert isinstance(gate.check("code", "kubernetes"), No)


def test_a_batch_that_fails_leaves_the_gate_sure(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser")])
    fail(known, node("2", "mailbox"))
    assert refused(known, "mailbox")


def test_a_search_in_vain_is_counted(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser")])
    known.search.by_words("kubernetes")
    known.search.by_words("parser")
    known.delete(["1"])
    known.search.by_words("parser")
    numbers = known.guards.numbers()[Domain.CODE]
    assert (numbers.noes, numbers.maybes, numbers.in_vain, numbers.unknown) == (1, 2, 1, 0)


def test_nothing_that_was_acknowledged_is_denied_while_others_write_and_filters_are_built(
    known: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "PENDING_KEYS", 20)
    acknowledged: list[str] = []
    denied: list[str] = []
    over = threading.Event()

    def look(step: int) -> None:
        while not over.is_set():
            for word in acknowledged[::step]:
                if refused(known, word) or refused(known, f'"{word}"'):
                    denied.append(word)

    def build() -> None:
        while not over.is_set():
            known.guards.rebuild([Domain.CODE])
            known.guards.save()

    others = [threading.Thread(target=look, args=(step,)) for step in (1, 3)] + [threading.Thread(target=build)]
    for each in others:
        each.start()
    for number in range(60):
        words = [f"word{number}x{each}" for each in range(5)]
        known.put([node(f"n{number % 7}", " ".join(words)), node(f"m{number}", words[0])])
        acknowledged.append(words[0])
    over.set()
    for each in others:
        each.join()
    assert denied == []
    known.guards.rebuild()
    assert refused(known, "kubernetes")


# Readers in other processes


def follow(base: KnowledgeBase, reader: Reader) -> None:
    grant = base.guards.granted(Domain.CODE, reader.renew())
    assert grant is not None
    whole = base.guards.snapshots()[Domain.CODE][2] if reader.needs_snapshot(grant) else None
    said = reader.accept(grant, whole)
    assert said is not None
    base.guards.confirmed(Domain.CODE, said)


def test_a_write_waits_until_the_readers_do_not_deny_it(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser")])
    reader = Reader()
    follow(known, reader)
    gate = Gate({"code": reader})
    assert isinstance(gate.check("code", "mailbox"), No)
    told = threading.Event()
    known.guards.pushed = lambda domain, push: told.set()
    done = threading.Event()
    writing = threading.Thread(target=lambda: (known.insert([node("2", "mailbox")]), done.set()))
    writing.start()
    assert told.wait(5)
    assert not done.is_set() or gate.check("code", "mailbox") is MAYBE
    follow(known, reader)
    writing.join(5)
    assert done.is_set()
    assert gate.check("code", "mailbox") is MAYBE


def test_a_write_waits_no_longer_than_the_lease_of_a_reader_that_is_gone(known: KnowledgeBase) -> None:
    known.insert([node("1", "parser")])
    reader = Reader()
    follow(known, reader)
    known.insert([node("2", "mailbox")])
    assert Gate({"code": reader}).check("code", "mailbox") is MAYBE


def test_a_new_owner_waits_for_leases_of_the_one_before(tmp_path: Path) -> None:
    base = open_base(tmp_path)
    base.insert([node("1", "parser")])
    base.flush()
    reader = Reader()
    follow(base, reader)
    abandon(base)
    with open_base(tmp_path) as base:
        base.insert([node("2", "mailbox")])
        assert Gate({"code": reader}).check("code", "mailbox") is MAYBE


def test_no_lease_is_granted_while_something_is_not_known(tmp_path: Path) -> None:
    base = open_base(tmp_path)
    base.insert([node("1", "parser")])
    abandon(base)
    with open_base(tmp_path) as base:
        base.guards._closing.set()  # noqa: SLF001 - so that it is not built in between
        assert base.guards.granted(Domain.CODE, Reader().renew()) is None
        base.guards._closing.clear()  # noqa: SLF001
        base.guards.rebuild()
        follow(base, Reader())


def test_generations_differ_by_what_was_written(known: KnowledgeBase) -> None:
    assert set(generations.read(known._database).values()) == {generations.NOTHING}  # noqa: SLF001
    known.insert([node("1", "parser")], embed=False)
    assert set(generations.read(known._database).values()) == {generations.NOTHING}  # noqa: SLF001
    known.insert([node("2", "parser")])
    first = generations.read(known._database)  # noqa: SLF001
    known.insert([node("3", "past", Domain.HISTORY)])
    second = generations.read(known._database)  # noqa: SLF001
    assert first[Domain.CODE] == second[Domain.CODE] != generations.NOTHING
    assert second[Domain.HISTORY] not in {generations.NOTHING, second[Domain.CODE]}


WORDS = [f"word{letter}" for letter in "abcdefgh"]
WORDS_OF_A_NODE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
IDS = st.sampled_from([f"n{n}" for n in range(6)])


class Interleavings(RuleBasedStateMachine):
    """Whatever happens in whatever order, nothing that is stored is denied."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.base = open_base(self.directory)
        self.stored: dict[str, tuple[str, str]] = {}

    @rule(name=IDS, content=WORDS_OF_A_NODE, path=st.sampled_from(["a/x.py", "a/b/y.py", "c.py"]))
    def put(self, name: str, content: str, path: str) -> None:
        self.base.put([node(name, content, path=path)])
        self.stored[name] = (content, path)

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.stored)))
        self.base.delete([name])
        del self.stored[name]

    @rule(content=WORDS_OF_A_NODE)
    def fail(self, content: str) -> None:
        fail(self.base, node("fails", content))

    @rule()
    def drop(self) -> None:
        self.base.drop(Domain.CODE, "/repo")
        self.stored.clear()

    @rule()
    def flush(self) -> None:
        self.base.flush()

    @rule()
    def rebuild(self) -> None:
        self.base.guards.rebuild()

    @rule()
    def reopen(self) -> None:
        self.base.close()
        self.base = open_base(self.directory)

    @rule()
    def crash(self) -> None:
        abandon(self.base)
        self.base = open_base(self.directory)

    @invariant()
    def nothing_that_is_stored_is_denied(self) -> None:
        for name, (content, path) in self.stored.items():
            for word in content.split():
                assert self.base.allows(Domain.CODE, f'"{word}" {word} kubernetes', Within(path)) is MAYBE, (name, word)
        for word in WORDS:
            found = {each.node.id for each in self.base.search.by_words(word)}
            assert found == {name for name, (content, _) in self.stored.items() if word in content.split()}

    def teardown(self) -> None:
        self.base.close()
        shutil.rmtree(self.directory)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=int(os.environ.get("GUARDING_EXAMPLES", "15")), stateful_step_count=15, deadline=None
)
