"""A pipeline whose agents think: what they do, what they cannot, and that a crash repeats no call of a model."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors import tester
from actors.engineer import Engineer
from actors.inspector import Inspector
from actors.knowledge import Knowledge
from actors.knowledge_messages import KNOWLEDGE
from actors.looking_up import LOOKS_UP
from actors.pipeline import PipelineAgent
from sylk_ray.codebase.requests import Index
from sylk_ray.codebase.serving import open_codebase
from sylk_ray.config import Model, Settings
from sylk_ray.fairness import Lane
from sylk_ray.hooks import HookContext, ToolAfter, hook, runtime_hooks
from sylk_ray.jobs import load_job
from sylk_ray.pipelines.asking import TellEngineer
from sylk_ray.pipelines.brief import Assignment, Brief
from sylk_ray.pipelines.messages import MergeWork, PipelineFailed, StartPipeline
from sylk_ray.runtime import Host, LocalTransport, MemoryJournals, Roles, SessionBinding, SystemClock
from sylk_ray.sessions.git import Git
from sylk_ray.sessions.records import Loops, Override
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.thinking import Answer, Toolbox
from sylk_ray.tools import Issue
from tests.models import ModelServer, RoleScript, call
from tests.unit.actors import SESSION
from tests.unit.actors.test_pipeline import ORCHESTRATOR, PIPELINE, OpenDoor, Recorder
from tests.unit.runtime.conftest import FakeFleet, FakeRouter
from tests.unit.sessions.conftest import git, new_repository

APPROVED = call("finish", issues=[])
WRITTEN = call("write_file", path="total.py", content="def total(values):\n    return sum(values)\n")
DONE = call("finish", summary="total is there")
TEST = "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
OLD = "def test_old():\n    assert 1\n"
TESTED = [
    call("write_file", path="tests/test_total.py", content=TEST),
    call("run_command", command=f"PYTHONPATH=. {sys.executable} -m pytest -q tests/test_total.py"),
    call("finish", summary="it adds up", command=f"PYTHONPATH=. {sys.executable} -m pytest -q tests/test_total.py"),
]


class Charged:
    def charge(self, *, input: float = 0, output: float = 0) -> None:
        pass


class Door(OpenDoor):
    """In the place of FairShare: everyone may go on, and who asked is noted."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    @contextlib.asynccontextmanager
    async def model_call(
        self, key: str, session: str, provider: str, *, estimate: float = 1, lane: Lane = Lane.NORMAL
    ) -> AsyncGenerator[Charged]:
        assert estimate > 10
        self.calls.append(key)
        yield Charged()


class World:
    """A cell, a repository and a model."""

    def __init__(self, home: Path, repo: Path) -> None:
        self.home = home
        self.repo = repo
        self.journals = MemoryJournals()
        self.script = RoleScript()
        self.server = ModelServer(answer=lambda request: self.script(request))
        self.door = Door()
        self.workspace = Workspace(home, SESSION, "demo", repo)

    async def start(self) -> Host:
        agents = (PipelineAgent, Engineer, Inspector, tester.Tester, Knowledge, Recorder, FakeRouter, FakeFleet)
        transport = LocalTransport()
        models = {"local": Model(base_url=self.server.url, model="tiny", context_window=32_000)}
        self.host = host = Host(
            "a",
            roles=Roles({cls.role: cls for cls in agents}),
            transport=transport,
            journals=self.journals,
            clock=SystemClock(),
            settings=Settings(home=self.home, models=models),
        )
        host.leases = self.door  # type: ignore[assignment]
        host.directory.learn(KNOWLEDGE, "a")
        transport.join("a", host.receive)
        await host.open_session(SessionBinding(SESSION, "a"))
        return host

    def brief(self, task: str = "prompt: Write total.py with a function that adds up.") -> Brief:
        job = load_job(f"name: j\ntasks:\n  a:\n    {task}\n", source="job.yaml")
        made = job.tasks["a"]
        assignment = Assignment(
            prompt=made.prompt or "",
            criteria=made.criteria,
            thinks=made.thinks,
            literal=made.literal,
            thinking=job.thinking,
            engineer=made.engineer,
            inspector=made.inspector,
            tester=made.tester,
        )
        return Brief(
            session=SESSION,
            session_name="demo",
            repo=str(self.repo),
            task="a",
            attempt=1,
            assignment_json=assignment.model_dump_json(),
            limits_json=job.limits.model_dump_json(),
            sandbox_json=job.sandbox.model_dump_json(),
            max_loops=2,
        )

    async def run(self, brief: Brief | None = None, **moves: Any) -> MergeWork | PipelineFailed:
        """Of a whole attempt."""
        self.script = RoleScript(**moves)
        await self.host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(brief or self.brief()), timeout=5)
        async with asyncio.timeout(60):
            while not (ended := [e for e in Recorder.heard if isinstance(e, MergeWork | PipelineFailed)]):
                await asyncio.sleep(0.01)
        return ended[0]

    def file(self, merge: MergeWork | PipelineFailed, path: str) -> str:
        assert isinstance(merge, MergeWork), merge
        return git(self.repo, "show", f"{merge.commit}:{path}")

    def happened(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.journals.history(SESSION) if event.kind == kind]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    FakeRouter.places, Recorder.heard = {}, []
    files = {
        "tests/empty.py": "",
        "tests/conftest.py": "X = 1\n",
        "readme.md": "# Sums\n",
        "pytest.ini": "[pytest]\n",
        "tests/test_old.py": "def test_old():\n    assert 1\n",
    }
    made = World(tmp_path / "home", new_repository(tmp_path / "repo", files))
    await made.workspace.create(git(made.repo, "rev-parse", "HEAD"))
    await made.start()
    yield made
    await made.host.stop(grace_s=0)
    made.server.close()


async def test_a_prompt_becomes_reviewed_and_tested_work(world):
    merge = await world.run(engineer=[call("list_files"), WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    assert "return sum(values)" in world.file(merge, "total.py")
    assert world.file(merge, "tests/test_total.py").strip() == TEST.strip()
    assert merge.result.files_changed == ["tests/test_total.py", "total.py"]
    assert world.script.left == {}
    assert len(world.door.calls) == len(set(world.door.calls)) == 3 + 1 + 3


async def test_each_is_told_what_it_needs(world):
    await world.run(
        world.brief("{prompt: Add up., criteria: [an empty list gives 0]}"),
        engineer=[WRITTEN, DONE],
        inspector=[APPROVED],
        tester=TESTED,
    )
    first = {role: world.script.requests(role)[0] for role in ("engineer", "inspector", "tester")}
    for request in first.values():
        assert "Add up." in request.messages[0].text
        assert "an empty list gives 0" in request.messages[0].text
    assert "+    return sum(values)" in first["inspector"].messages[0].text
    assert "+    return sum(values)" in first["tester"].messages[0].text
    assert {tool.name for tool in first["inspector"].tools} == {"read_file", "list_files", "search_files", "finish"}


async def test_what_is_refused_is_told_with_what_is_granted_and_recorded(world):
    merge = await world.run(
        engineer=[call("run_command", command="rm -rf /"), call("read_file", path="../../secret"), WRITTEN, DONE],
        inspector=[call("write_file", path="x", content=""), APPROVED],
        tester=TESTED,
    )
    assert isinstance(merge, MergeWork)
    assert "rm of / is not run" in world.script.told("engineer", 2)[0]
    assert "needs the permission filesystem.write; granted: filesystem.read" in world.script.told("inspector", 2)[0]
    refused = [(each["role"], each["tool"], each["permission"]) for each in world.happened("permission.denied")]
    assert refused == [
        ("engineer", "run_command", "shell"),
        ("engineer", "read_file", "filesystem.read"),
        ("inspector", "write_file", "filesystem.write"),
    ]
    assert all(each["reason"] for each in world.happened("permission.denied"))


async def test_an_inspector_is_told_what_a_person_accepts_and_what_linters_then_say_is_no_end(world):
    odd = Issue("", 0, "lint", "error", "look ended with exit code 1: odd", "")
    task = "{prompt: Add up., inspector: {tools: [{name: look, run: 'echo odd; exit 1', files: '**'}]}}"
    brief = msgspec.structs.replace(world.brief(task), overridden=(Override(odd.id, "look: odd"),))
    merge = await world.run(brief, engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    assert merge.loops == Loops()
    told = world.script.requests("inspector")[0].messages[0].text
    assert "# A person accepts this: it is no issue\n- look: odd" in told


async def test_what_the_inspector_finds_goes_back_and_is_mended(world):
    found = {"severity": "error", "message": "an empty list is not considered", "file": "total.py", "line": 2}
    mended = call("edit_file", path="total.py", old="sum(values)", new="sum(values or [])")
    merge = await world.run(
        engineer=[WRITTEN, DONE, mended, DONE],
        inspector=[call("finish", issues=[found]), APPROVED],
        tester=TESTED,
    )
    assert "sum(values or [])" in world.file(merge, "total.py")
    again = world.script.requests("engineer")[2].messages[0].text
    assert "total.py:2: review error: an empty list is not considered" in again
    assert "+    return sum(values)" in again


async def test_warnings_do_not_hold_the_work_up(world):
    found = {"severity": "warning", "message": "the name could be better"}
    merge = await world.run(engineer=[WRITTEN, DONE], inspector=[call("finish", issues=[found])], tester=TESTED)
    assert isinstance(merge, MergeWork)


async def test_what_a_linter_has_found_is_mended_before_the_model_reads(world):
    task = "{prompt: Add up., inspector: {tools: [{name: look, run: \"! grep -rn sum *.py\", files: '**'}]}}"
    without = call("write_file", path="total.py", content="def total(values):\n    return len(values) and 3\n")
    merge = await world.run(
        world.brief(task), engineer=[WRITTEN, DONE, without, DONE], inspector=[APPROVED], tester=TESTED
    )
    assert isinstance(merge, MergeWork)
    assert len(world.script.requests("inspector")) == 1


async def test_tests_that_fail_are_run_whatever_the_model_says_and_go_back(world):
    wrong = call("write_file", path="total.py", content="def total(values):\n    return 4\n")
    merge = await world.run(
        engineer=[wrong, DONE, WRITTEN, DONE], inspector=[APPROVED, APPROVED], tester=[*TESTED, *TESTED]
    )
    assert "return sum(values)" in world.file(merge, "total.py")
    assert "test_total" in world.script.requests("engineer")[2].messages[0].text


async def test_a_test_of_a_copy_of_the_code_does_not_go_in(world):
    copy = "def total(values):\n    return sum(values)\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    run = call("finish", summary="ok", command=f"{sys.executable} -m pytest -q tests/test_total.py")
    tries = [
        call("write_file", path="tests/test_total.py", content=copy),
        call("run_command", command=f"mkdir -p tests; printf %s {shlex.quote(copy)} > tests/test_total.py"),
        run,
        call("edit_file", path="tests/test_total.py", old=copy.partition("\n\n\n")[0], new="from total import total"),
        run,
    ]
    merge = await world.run(engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=tries)
    told = world.script.told("tester", 4)
    assert "nothing is written: total is defined in total.py, and a copy shows nothing of it" in told[0]
    assert "total is defined in total.py, and now in a test as well" in told[2]
    assert world.file(merge, "tests/test_total.py").startswith("from total import total\n")


async def test_a_tester_changes_no_code_and_takes_no_test_away(world):
    tries = [
        call("write_file", path="total.py", content="def total(values):\n    return 3\n"),
        call("run_command", command="echo 'def total(v): return 3' > total.py"),
        call("finish", summary="ok", command="pytest"),
        call("run_command", command="git show HEAD:total.py > total.py; echo > tests/test_old.py"),
        call("finish", summary="ok", command="pytest"),
        call(
            "write_file",
            path="tests/test_old.py",
            content=f"{OLD}\n\ndef test_new():\n    pass\n",
        ),
        call("finish", summary="ok", command=f"{sys.executable} -m pytest -q tests"),
    ]
    merge = await world.run(engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=tries)
    told = world.script.told("tester", 7)
    assert "you write tests, and this is none" in told[0]
    assert "total.py is no test: put it back" in told[2]
    assert "lines of tests/test_old.py are gone" in told[4]
    assert "return sum(values)" in world.file(merge, "total.py")
    assert "def test_new" in world.file(merge, "tests/test_old.py")


def short(brief: Brief, turns: int = 3) -> Brief:
    assignment = msgspec.json.decode(brief.assignment_json)
    assignment["thinking"]["turns"] = turns
    return msgspec.structs.replace(brief, assignment_json=msgspec.json.encode(assignment).decode())


async def test_what_a_tester_left_that_may_not_go_in_fails_the_attempt(world):
    ruin = call("run_command", command="echo 'def total(v): return 3' > total.py")
    forced = call("finish", summary="x", command="pytest")
    failed = await world.run(
        short(world.brief()), engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=[ruin, ruin, forced]
    )
    assert isinstance(failed, PipelineFailed)
    assert (failed.error.type, "total.py is no test" in failed.error.message) == ("tests_unusable", True)


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        ([call("run_command", command="rm tests/test_old.py")], "lines of tests/test_old.py are gone"),
        ([call("run_command", command="rm tests/empty.py")], "lines of tests/empty.py are gone"),
        (
            [
                call(
                    "write_file",
                    path="tests/test_old.py",
                    content=f"import pytest\npytestmark = pytest.mark.skip\n{OLD}",
                )
            ],
            "a test that is not run shows nothing",
        ),
        ([call("write_file", path="conftest.py", content="collect_ignore_glob = ['*']\n")], "a test that is not run"),
        ([call("write_file", path="tests/conftest.py", content="X = 1\nY = 2\n")], "tests/conftest.py says how tests"),
    ],
)
async def test_a_tester_cannot_weaken_tests(world, moves, told):
    await world.run(
        engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=[*moves, call("finish", summary="ok", command="pytest")]
    )
    assert told in world.script.told("tester", 3)[1]


@pytest.mark.parametrize(
    ("command", "told"),
    [("true", "true runs no tests"), ("pytest || true", "one command alone"), ("pytest; exit 0", "one command alone")],
)
async def test_a_command_whose_exit_code_is_not_the_tests_will_not_do(world, command, told):
    await world.run(
        engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=[call("finish", summary="ok", command=command)]
    )
    assert told in world.script.told("tester", 2)[0]


async def test_declared_tests_are_run_beside_the_new_ones(world):
    wrong = call("write_file", path="tests/test_total.py", content="def test_total():\n    assert 1\n")
    command = f"{sys.executable} -m pytest -q tests/test_total.py"
    brief = world.brief("{prompt: Add up., tester: {run: test ! -e tests/test_total.py}, write_tests: true}")
    failed = await world.run(
        msgspec.structs.replace(brief, max_loops=0),
        engineer=[WRITTEN, DONE],
        inspector=[APPROVED],
        tester=[wrong, call("finish", summary="ok", command=command)],
    )
    assert isinstance(failed, PipelineFailed)
    assert failed.error.type == "tests_failed"


async def test_an_engineer_that_has_done_nothing_fails_the_attempt(world):
    gives_up = call("finish", summary="no", unfinished=["all of it: no access"])
    failed = await world.run(engineer=[gives_up, gives_up])
    assert isinstance(failed, PipelineFailed)
    assert "and finish once more" in world.script.told("engineer", 2)[0]
    assert (failed.error.type, "all of it: no access" in failed.error.message) == ("not_done", True)


async def test_what_is_not_done_is_told_to_the_inspector(world):
    await world.run(
        engineer=[WRITTEN, *[call("finish", summary="half", unfinished=["the docs"])] * 2],
        inspector=[APPROVED],
        tester=TESTED,
    )
    assert "you say that this is not done: the docs" in world.script.told("engineer", 3)[1]
    assert "not done: the docs" in world.script.requests("inspector")[0].messages[0].text


async def test_at_a_limit_what_there_is_goes_on(world):
    moves = [WRITTEN, call("list_files"), call("finish", summary="as far as it went")]
    merge = await world.run(short(world.brief()), engineer=moves, inspector=[APPROVED], tester=TESTED)
    assert isinstance(merge, MergeWork | PipelineFailed)
    assert "it was ended by a limit: turns" in world.script.requests("inspector")[0].messages[0].text


async def test_a_prompt_is_filled_in_unless_it_is_literal(world):
    await world.run(world.brief("{prompt: 'Say {{ 1 + 1 }}.'}"), engineer=[])
    assert "Say 2." in world.script.requests("engineer")[0].messages[0].text
    Recorder.heard.clear()
    brief = msgspec.structs.replace(world.brief("{prompt: 'Say {{ x }}.', literal: true}"), attempt=2)
    await world.run(brief, engineer=[])
    assert "Say {{ x }}." in world.script.requests("engineer")[0].messages[0].text


async def test_declared_and_thinking_roles_mix(world):
    writing = "{write: {path: total.py, content: 'def total(v): return sum(v)'}}"
    task = f"{{engineer: [{writing}], prompt: Add up., review: true, tester: 'true'}}"
    merge = await world.run(world.brief(task), inspector=[APPROVED])
    assert isinstance(merge, MergeWork)
    assert [role for role, _ in world.script.asked] == ["inspector"]


async def test_an_engineer_that_changes_nothing_is_told(world):
    await world.run(engineer=[DONE, WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    assert "nothing has changed in the worktree" in world.script.told("engineer", 2)[0]


async def test_a_model_that_comes_to_nothing_fails_the_attempt_and_says_how(world):
    failed = await world.run()
    assert isinstance(failed, PipelineFailed)
    assert failed.error.type == "no_result"
    assert "silent" in failed.error.message
    assert "nothing is written down for the engineer" in failed.error.message


async def test_without_a_model_a_prompt_says_so(world, monkeypatch):
    monkeypatch.setattr(world.host, "settings", Settings(home=world.home))
    failed = await world.run()
    assert (failed.error.type, "no model is configured" in failed.error.message) == ("no_model", True)


async def test_what_was_called_and_used_is_in_the_history(world):
    await world.run(engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    called = world.happened("model.called")
    assert [each["role"] for each in called] == ["engineer"] * 2 + ["inspector"] + ["tester"] * 3
    assert all((each["model"], each["input"], each["output"]) == ("local", 100, 10) for each in called)
    ended = world.happened("thinking.ended")
    assert [(each["role"], each["ended"], each["turns"]) for each in ended] == [
        ("engineer", "done", 2),
        ("inspector", "done", 1),
        ("tester", "done", 3),
    ]


@pytest.mark.parametrize("uses", [1, 2, 3])
async def test_an_engineer_that_dies_goes_on_where_it_was_and_asks_nothing_again(world, uses):
    """Its mail and its steps are in the journal; whoever takes over begins the handler anew."""
    hooks = runtime_hooks(world.host.settings.hooks)
    seen: list[str] = []

    @hook(ToolAfter)
    async def die(payload: ToolAfter, ctx: HookContext) -> None:
        seen.append(payload.tool)
        if len(seen) == uses:
            slot = world.host._slots.pop(PIPELINE.beside("engineer"))
            for task in slot.tasks():
                task.cancel()
            asyncio.get_running_loop().create_task(world.host.recover_session(SESSION))
            await asyncio.Event().wait()  # here it ends: a step further it might still ask its model

    hooks.add(die)
    try:
        merge = await world.run(
            engineer=[call("list_files"), WRITTEN, call("read_file", path="total.py"), DONE],
            inspector=[APPROVED],
            tester=TESTED,
        )
    finally:
        hooks.remove(die.name)
    assert len(seen) > uses
    assert "return sum(values)" in world.file(merge, "total.py")
    assert len(world.script.requests("engineer")) == 4
    assert world.script.left == {}


@pytest.mark.parametrize(
    ("last", "saved"),
    [
        (call("edit_file", path="total.py", old="sum(vxx", new="sum(vxxx"), 1),
        (call("run_command", command="sed -i 's/sum(vxx/sum(vxxx/' total.py"), 2),
    ],
)
async def test_a_change_that_was_cut_off_is_undone_and_made_anew(world, monkeypatch, last, saved):
    """To what was there before it: what the change before has left, and what others have made since, a person or a
    hook. The whole worktree is saved when it is done, and before what may change any file."""
    use, save = Toolbox.use, Workspace._saved
    begun: list[str] = []
    saves: list[Path] = []
    worktree = world.workspace.directory.worktree("a")

    async def counted(workspace: Workspace, git: Git, git_dir: Path) -> str:
        saves.append(git_dir)
        return await save(workspace, git, git_dir)

    async def dying(toolbox: Toolbox, tool: str, arguments: Mapping[str, Any]) -> Answer:
        answer = await use(toolbox, tool, arguments)
        begun.append(tool)
        if len(begun) == 4:
            (worktree / "by_person.py").write_text("x = 1\n")
        if len(begun) == 5:
            slot = world.host._slots.pop(PIPELINE.beside("engineer"))
            for task in slot.tasks():
                task.cancel()
            asyncio.get_running_loop().create_task(world.host.recover_session(SESSION))
            await asyncio.Event().wait()
        return answer

    monkeypatch.setattr(Workspace, "_saved", counted)
    monkeypatch.setattr(Toolbox, "use", dying)
    edits = [call("edit_file", path="total.py", old=f"sum(v{'x' * n}", new=f"sum(v{'x' * n}x") for n in range(2)]
    looks = call("read_file", path="total.py")
    brief = world.brief("prompt: Write total.py.\n    review: false\n    write_tests: false")
    merge = await world.run(brief, engineer=[WRITTEN, *edits, looks, last, DONE])
    assert world.file(merge, "total.py").endswith("sum(vxxxalues)")
    assert world.file(merge, "by_person.py") == "x = 1"
    assert begun[:4] == ["write_file", "edit_file", "edit_file", "read_file"]
    assert len(begun) == 6
    assert begun[4] == begun[5]
    assert len(saves) == saved
    assert len(world.script.requests("engineer")) == 6


async def test_what_a_tester_has_not_run_is_run_and_what_fails_is_told_to_it_once(world):
    """It decides whose fault that is: here the test's, and then there is nothing to send back."""
    wrong = TEST.replace("== 3", "== 4")
    command = f"PYTHONPATH=. {sys.executable} -m pytest -q tests/test_total.py"
    named = call("finish", summary="it adds up", command=command)
    merge = await world.run(
        engineer=[WRITTEN, DONE],
        inspector=[APPROVED],
        tester=[
            call("write_file", path="tests/test_total.py", content=wrong),
            named,
            call("write_file", path="tests/test_total.py", content=TEST),
            named,
        ],
    )
    assert "assert 3 == 4" in world.script.told("tester", 3)[1]
    assert "Is the test wrong, or the command?" in world.script.told("tester", 3)[1]
    assert world.file(merge, "tests/test_total.py").strip() == TEST.strip()
    assert merge.loops.tester == 0


async def test_a_tester_that_finds_the_code_wrong_finishes_once_more(world):
    wrong = call("write_file", path="total.py", content="def total(values):\n    return 4\n")
    write, _, named = TESTED
    merge = await world.run(
        engineer=[wrong, DONE, WRITTEN, DONE],
        inspector=[APPROVED, APPROVED],
        tester=[write, named, named, named],
    )
    assert merge.loops.tester == 1
    assert "return sum(values)" in world.file(merge, "total.py")


async def test_each_is_told_of_the_files_that_its_task_names(world):
    await world.run(
        world.brief("prompt: Add up in total.py as readme.md says."),
        engineer=[WRITTEN, DONE],
        inspector=[APPROVED],
        tester=TESTED,
    )
    told = {role: world.script.requests(role)[0].messages[0].text for role in ("engineer", "tester")}
    assert "readme.md:\n```\n# Sums\n```" in told["engineer"]
    assert "tests/test_old.py" in told["engineer"]
    assert "total.py" in told["tester"].split("# Task")[0]


async def test_an_inspector_that_only_repeats_what_it_was_told_has_found_nothing(world):
    criterion = "An empty list gives the number zero."
    echo = call("finish", issues=[{"severity": "error", "message": criterion.lower(), "file": "total.py"}])
    merge = await world.run(
        world.brief(f"{{prompt: Add up., criteria: ['{criterion}']}}"),
        engineer=[WRITTEN, DONE],
        inspector=[echo, APPROVED],
        tester=TESTED,
    )
    assert isinstance(merge, MergeWork)
    assert "this only repeats what you were told" in world.script.told("inspector", 2)[0]


@pytest.mark.parametrize(
    "left",
    [
        "total is there",
        "The tests are not written yet.",
        "The function total(values) is not tested yet.",
        "I have written no unit tests",
    ],
)
async def test_what_was_done_and_what_the_tester_does_is_not_unfinished(world, left):
    await world.run(
        engineer=[WRITTEN, call("finish", summary="total is there", unfinished=[left])],
        inspector=[APPROVED],
        tester=TESTED,
    )
    assert "not done" not in world.script.requests("inspector")[0].messages[0].text
    assert world.script.left == {}


@pytest.mark.parametrize(
    "left",
    [
        "The test test_old still fails.",
        "Without test keys the upload could not be done.",
        "The floats are left out, and it is not tested.",
    ],
)
async def test_what_is_unfinished_besides_tests_is_told_also_where_a_tester_comes(world, left):
    done = call("finish", summary="total is there", unfinished=[left])
    await world.run(engineer=[WRITTEN, done, done], inspector=[APPROVED], tester=TESTED)
    assert f"not done: {left}" in world.script.requests("inspector")[0].messages[0].text


async def test_where_no_tester_comes_tests_are_the_engineers_to_write(world):
    brief = world.brief("{prompt: Add up., review: false, write_tests: false}")
    left = call("finish", summary="total is there", unfinished=["It is not tested."])
    await world.run(brief, engineer=[WRITTEN, left, left])
    assert "you say that this is not done: It is not tested." in world.script.told("engineer", 3)[1]


async def test_what_a_person_says_is_heard_before_the_next_reply_and_survives_the_cell(world):
    hooks = runtime_hooks(world.host.settings.hooks)

    @hook(ToolAfter)
    async def speak(payload: ToolAfter, ctx: HookContext) -> None:
        if payload.tool.endswith("list_files"):
            await world.host.tell(ORCHESTRATOR, PIPELINE, TellEngineer(1, "mind the floats"), timeout=5)

    hooks.add(speak)
    try:
        brief = msgspec.structs.replace(world.brief(), said=("be quick",))
        merge = await world.run(
            brief, engineer=[call("list_files"), WRITTEN, DONE], inspector=[APPROVED], tester=TESTED
        )
    finally:
        hooks.remove(speak.name)
    assert isinstance(merge, MergeWork), merge
    first, second, third = world.script.requests("engineer")
    assert "be quick" in first.messages[0].text
    assert [turn.text for turn in second.messages if "meanwhile" in turn.text] == [
        "The person says meanwhile: mind the floats"
    ]
    assert [turn.text for turn in third.messages].count("The person says meanwhile: mind the floats") == 1


async def test_an_engineer_asks_only_where_a_person_may_be_waited_for(world):
    await world.run(engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    offered = {tool.name for tool in world.script.requests("engineer")[0].tools}
    assert "ask_for_help" not in offered
    Recorder.heard.clear()
    brief = world.brief()
    asks = brief.assignment.model_copy(update={"may_ask": True}).model_dump_json()
    brief = msgspec.structs.replace(brief, attempt=2, assignment_json=asks)
    await world.run(
        brief,
        engineer=[call("ask_for_help", question="Is an empty list an error?"), WRITTEN, DONE],
        inspector=[APPROVED],
        tester=TESTED,
    )
    assert world.script.told("engineer", 2) == ["No: Is an empty list an error?"]


async def test_what_the_engineer_says_is_left_undone_is_a_finding(world):
    left = "The name still stands in shelf/receipt.py"
    found = {"severity": "error", "message": left, "file": "total.py"}
    mended = call("edit_file", path="total.py", old="sum(values)", new="sum(values or [])")
    merge = await world.run(
        engineer=[WRITTEN, *[call("finish", summary="total is there", unfinished=[left])] * 2, mended, DONE],
        inspector=[call("finish", issues=[found]), APPROVED],
        tester=TESTED,
    )
    assert isinstance(merge, MergeWork)
    assert left in world.script.requests("engineer")[3].messages[0].text
    first, again = world.script.requests("inspector")
    assert f"not done: {left}" in first.messages[0].text
    assert "not done" not in again.messages[0].text


@pytest.mark.parametrize("form", ["run_command {{'command':'{}'}}", 'run_command("command": "{}", timeout_s=10)'])
async def test_a_call_in_the_place_of_a_command_is_taken_for_its_command(world, form):
    command = f"{sys.executable} -m pytest -q tests/test_total.py"
    ended = call("finish", summary="it adds up", command=form.format(command))
    merge = await world.run(engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=[*TESTED[:-1], ended])
    assert isinstance(merge, MergeWork)
    assert world.script.left == {}


async def test_who_reads_and_writes_code_can_look_it_up_where_it_is_indexed(world):
    with open_codebase(world.home) as code:
        code.ask(Index(root=str(world.repo)))
    merge = await world.run(
        engineer=[call("search_code", query="total"), WRITTEN, DONE], inspector=[APPROVED], tester=TESTED
    )
    assert isinstance(merge, MergeWork)
    offered = {role: {tool.name for tool in world.script.requests(role)[0].tools} for role in ("engineer", "inspector")}
    assert offered["engineer"] & LOOKS_UP == offered["inspector"] & LOOKS_UP == {"find_symbol", "search_code"}
    # Here are no gates; that is told, and the work goes on.
    assert "no role 'gate'" in world.script.told("engineer", 2)[0]
    assert not LOOKS_UP & {tool.name for tool in world.script.requests("tester")[0].tools}
