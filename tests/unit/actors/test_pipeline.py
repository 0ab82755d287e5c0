"""A pipeline that is stopped: nothing of the attempt begins any more, also when its cell dies in between. And one whose
checks a person waives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from actors import tester
from actors.engineer import Engineer
from actors.inspector import Inspector
from actors.pipeline import PipelineAgent
from sylk_ray.config import Settings
from sylk_ray.fairness import Request as Lease
from sylk_ray.hooks import Abort, Hook, HookContext, ToolAfter, ToolBefore, hook, runtime_hooks
from sylk_ray.jobs import load_job
from sylk_ray.messaging import Address, Message
from sylk_ray.messaging.wire import Envelope
from sylk_ray.pipelines import messages
from sylk_ray.pipelines.asking import HelpWanted, WasHelped
from sylk_ray.pipelines.brief import MOST_ISSUES, Assignment, Brief, Feedback, Work
from sylk_ray.pipelines.messages import (
    DescribeTask,
    FinishStopping,
    InspectorDone,
    MergeWork,
    Overrule,
    PipelineFailed,
    PipelinePhase,
    PipelineStopped,
    StartPipeline,
    StopPipeline,
    TaskStatus,
    Waive,
)
from sylk_ray.runtime import (
    Agent,
    Context,
    Host,
    LocalTransport,
    MemoryJournals,
    Roles,
    SessionBinding,
    SystemClock,
    Transaction,
    handler,
)
from sylk_ray.runtime.outbox import mail_of
from sylk_ray.sessions.records import Loops, Override
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.tools import Issue
from sylk_ray.tools.specs import Check, Inspection
from tests.unit.actors import SESSION
from tests.unit.runtime.conftest import FakeFleet, FakeRouter
from tests.unit.sessions.conftest import git, new_repository

PIPELINE, ORCHESTRATOR = Address(SESSION, "pipeline", "a"), Address(SESSION, "orchestrator", "main")


class HeardState(msgspec.Struct):
    kinds: list[str] = []


class Recorder(Agent[HeardState]):
    """In the orchestrator's place: notes what pipelines say."""

    role = "orchestrator"
    heard: list[Any] = []

    @handler()
    async def phase(self, message: PipelinePhase, ctx: Context) -> None:
        self.heard.append(message)

    @handler()
    async def stopped(self, message: PipelineStopped, ctx: Context) -> None:
        self.heard.append(message)

    @handler()
    async def failed(self, message: PipelineFailed, ctx: Context) -> None:
        self.heard.append(message)

    @handler()
    async def merge(self, message: MergeWork, ctx: Context) -> None:
        self.heard.append(message)

    @handler()
    async def help_wanted(self, message: HelpWanted, ctx: Context) -> None:
        self.heard.append(message)

    @handler(concurrent=True)
    async def was_helped(self, message: WasHelped, ctx: Context) -> str | None:
        return f"No: {message.question}"


class OpenDoor:
    """In the place of FairShare: everyone may go on."""

    @contextlib.asynccontextmanager
    async def held(self, request: Lease) -> AsyncGenerator[None]:
        yield

    def close(self) -> None:
        pass


@pytest.fixture
async def host(tmp_path):
    FakeRouter.places, FakeRouter.events, Recorder.heard = {}, [], []
    transport = LocalTransport()
    agents = (PipelineAgent, Engineer, Inspector, tester.Tester, Recorder, FakeRouter, FakeFleet)
    host = Host(
        "a",
        roles=Roles({cls.role: cls for cls in agents}),
        transport=transport,
        journals=MemoryJournals(),
        clock=SystemClock(),
        settings=Settings(home=tmp_path / "home"),
    )
    host.leases = OpenDoor()  # type: ignore[assignment]
    transport.join("a", host.receive)
    await host.open_session(SessionBinding(SESSION, "a"))
    yield host
    await host.stop(grace_s=0)


@pytest.fixture
def repo(tmp_path) -> Path:
    return new_repository(tmp_path / "repo", {"x": "1\n"})


@pytest.fixture
async def workspace(tmp_path, repo) -> Workspace:
    workspace = Workspace(tmp_path / "home", SESSION, "demo", repo)
    await workspace.create(git(repo, "rev-parse", "HEAD"))
    return workspace


@pytest.fixture
def brief(workspace, repo) -> Brief:
    job = load_job("name: j\ntasks:\n  a: {engineer: [{run: 'sleep 979'}]}\n", source="job.yaml")
    return Brief(
        session=SESSION,
        session_name="demo",
        repo=str(repo),
        task="a",
        attempt=1,
        assignment_json=Assignment(engineer=job.tasks["a"].engineer).model_dump_json(),
        limits_json=job.limits.model_dump_json(),
        sandbox_json=job.sandbox.model_dump_json(),
        max_loops=1,
    )


async def until_heard(kind: type[Message]) -> list[Any]:
    async with asyncio.timeout(10):
        while not any(isinstance(each, kind) for each in Recorder.heard):
            await asyncio.sleep(0.01)
    return Recorder.heard


async def until_merged() -> MergeWork:
    """Its work is handed over, once, and none of its checks has failed it."""
    heard = await until_heard(MergeWork)
    assert not any(isinstance(each, PipelineFailed) for each in heard)
    (merge,) = [each for each in heard if isinstance(each, MergeWork)]
    return merge


async def test_an_attempt_that_is_stopped_before_it_is_started_never_begins(host, brief, workspace):
    await host.tell(ORCHESTRATOR, PIPELINE, StopPipeline(1, "cancelled"), timeout=5)
    assert await until_heard(PipelineStopped) == [PipelineStopped("a", 1)]
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(brief), timeout=5)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(msgspec.structs.replace(brief, attempt=2)), timeout=5)
    (_, phase) = await until_heard(PipelinePhase)
    assert (phase.attempt, phase.phase) == (2, "running")


async def test_what_fails_as_it_is_stopped_is_not_begun_once_more(host, brief, workspace, monkeypatch):
    begun: list[object] = []

    async def stubborn(action: object, tools: object) -> None:
        begun.append(action)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise TimeoutError("it did not end in time") from None

    monkeypatch.setattr("actors.engineer.perform", stubborn)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(brief), timeout=5)
    async with asyncio.timeout(10):
        while not begun:
            await asyncio.sleep(0.01)
    await host.tell(ORCHESTRATOR, PIPELINE, StopPipeline(1, "cancelled"), timeout=5)
    await until_heard(PipelineStopped)
    assert len(begun) == 1


async def test_it_is_stopped_as_well_when_the_start_was_not_handled_before_its_cell_died(host, brief, workspace):
    """The journal as a kill left it: the wish to stop was taken, the start before it not yet."""
    journal = host.journal_of(SESSION)
    envelopes = [
        Envelope(host.next_id(), ORCHESTRATOR, PIPELINE, StartPipeline(brief)),
        Envelope(host.next_id(), PIPELINE, PIPELINE, FinishStopping(1)),
    ]
    for envelope in envelopes:
        await journal.commit(Transaction(envelope.source, host.next_id(), outgoing=(mail_of(envelope),)))

    await host.recover_session(SESSION)

    await until_heard(PipelineStopped)
    await asyncio.sleep(0.3)
    assert Recorder.heard[-1] == PipelineStopped("a", 1)
    assert not workspace.directory.worktree("a").exists()
    assert await journal.pending() == []


def checked_by(brief: Brief, *, inspector: str = "", tester: str = "") -> Brief:
    """An attempt that writes a file, and is checked by commands."""
    lines = ["name: j", "tasks:", "  a:", "    engineer: [{write: {path: y, content: '2'}}]"]
    if inspector:
        lines.append(f"    inspector: {{tools: [{{name: look, run: '{inspector}', files: '**'}}]}}")
    if tester:
        lines.append(f"    tester: {{run: '{tester}'}}")
    task = load_job("\n".join(lines), source="job.yaml").tasks["a"]
    assignment = Assignment(engineer=task.engineer, inspector=task.inspector, tester=task.tester)
    return msgspec.structs.replace(brief, assignment_json=assignment.model_dump_json())


async def until_phase(phase: str) -> None:
    async with asyncio.timeout(10):
        while not any(isinstance(each, PipelinePhase) and each.phase == phase for each in Recorder.heard):
            await asyncio.sleep(0.01)


async def until_its_tool_runs(command: str) -> None:
    def runs() -> bool:
        for each in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if command in " ".join(each.cmdline()):
                    return True
        return False

    async with asyncio.timeout(10):
        while not runs():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("check", "phase"), [("inspector", "inspecting"), ("tester", "testing")])
async def test_a_check_that_is_waived_while_it_runs_is_ended_and_the_work_passes(host, brief, workspace, check, phase):
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, **{check: "sleep 979"})), timeout=5)
    await until_phase(phase)
    await host.tell(ORCHESTRATOR, PIPELINE, Waive(1, check), timeout=5)
    merge = await until_merged()
    assert merge.result.files_changed == ["y"]


@pytest.mark.parametrize("check", ["inspector", "tester"])
async def test_a_check_that_was_waived_before_is_not_begun(host, brief, workspace, check):
    waived = msgspec.structs.replace(checked_by(brief, **{check: "exit 1"}), waived=(check,))
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(waived), timeout=5)
    await until_heard(MergeWork)


async def test_a_waived_check_of_an_earlier_attempt_means_nothing_for_a_later_one(host, brief, workspace):
    failing = checked_by(brief, tester="exit 1")
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(failing), timeout=5)
    await until_heard(PipelineFailed)
    await host.tell(ORCHESTRATOR, PIPELINE, Waive(1, "tester"), timeout=5)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(msgspec.structs.replace(failing, attempt=2)), timeout=5)
    async with asyncio.timeout(10):
        while sum(isinstance(each, PipelineFailed) for each in Recorder.heard) < 2:
            await asyncio.sleep(0.01)
    assert not any(isinstance(each, MergeWork) for each in Recorder.heard)


async def test_a_tester_that_died_knows_again_that_it_is_waived(host, brief, workspace):
    """Of itself it keeps nothing. Its mail is in the journal, and whoever takes over begins with it anew."""
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, tester="sleep 979")), timeout=5)
    await until_phase("testing")
    agent = host._slots[PIPELINE].agent
    agent.state.brief = msgspec.structs.replace(agent.state.brief, waived=("tester",))
    slot = host._slots.pop(PIPELINE.beside("tester"))
    for task in slot.tasks():
        task.cancel()
    await host.recover_session(SESSION)
    await until_heard(MergeWork)


def complaining(brief: Brief, *said: str) -> Brief:
    """Its Inspector finds what is said, each time."""
    run = "; ".join(f"echo y:1:{each}" for each in said)
    check = Check(name="says", run=run, pattern=r"^(?P<file>[^:]+):(?P<line>\d+):(?P<message>.*)")
    assignment = checked_by(brief).assignment.model_copy(update={"inspector": Inspection(tools=(check,))})
    return msgspec.structs.replace(brief, assignment_json=assignment.model_dump_json())


def override_of(said: str) -> Override:
    return Override(Issue("y", 1, "lint", "error", said, "").id, said)


async def test_work_passes_with_an_issue_that_a_person_accepts(host, brief, workspace):
    accepted = msgspec.structs.replace(complaining(brief, "odd"), overridden=(override_of("odd"),))
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(accepted), timeout=5)
    assert (await until_merged()).result.files_changed == ["y"]


async def test_one_issue_that_is_accepted_does_not_excuse_another(host, brief, workspace):
    accepted = msgspec.structs.replace(complaining(brief, "odd", "bad"), overridden=(override_of("odd"),))
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(accepted), timeout=5)
    (failed,) = [each for each in await until_heard(PipelineFailed) if isinstance(each, PipelineFailed)]
    assert "bad" in failed.error.message
    assert "odd" not in failed.error.message


async def test_an_issue_that_is_accepted_while_the_inspector_looks_counts_no_more(host, brief, workspace):
    slow = complaining(brief, "odd")
    slow = msgspec.structs.replace(slow, assignment_json=slow.assignment_json.replace("echo", "sleep 1.5; echo", 1))
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(slow), timeout=5)
    await until_its_tool_runs("sleep 1.5")
    await host.tell(ORCHESTRATOR, PIPELINE, Overrule(1, override_of("odd")), timeout=5)
    assert (await until_merged()).result.files_changed == ["y"]


async def test_a_verdict_that_was_on_its_way_when_its_issues_were_accepted_does_not_count(host, brief, workspace):
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, inspector="sleep 984")), timeout=5)
    await until_its_tool_runs("sleep 984")
    await host.tell(ORCHESTRATOR, PIPELINE, Overrule(1, override_of("odd")), timeout=5)
    work = Work(git(Path(brief.repo), "rev-parse", "HEAD"), None, [])
    feedback = Feedback("inspector", 1, "it is odd", issues=[Issue("y", 3, "lint", "error", "odd", "")])
    verdict = InspectorDone(1, Loops(), feedback, final=True, work=work)
    await host.tell(PIPELINE.beside("inspector"), PIPELINE, verdict, timeout=5)
    await until_merged()


async def test_a_verdict_that_does_not_name_all_its_issues_holds(host, brief, workspace):
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, inspector="sleep 985")), timeout=5)
    await until_its_tool_runs("sleep 985")
    await host.tell(ORCHESTRATOR, PIPELINE, Overrule(1, override_of("odd")), timeout=5)
    work = Work(git(Path(brief.repo), "rev-parse", "HEAD"), None, [])
    issues = [Issue("y", line, "lint", "error", "odd", "") for line in range(MOST_ISSUES)]
    verdict = InspectorDone(1, Loops(), Feedback("inspector", 1, "", issues=issues), final=True, work=work)
    await host.tell(PIPELINE.beside("inspector"), PIPELINE, verdict, timeout=5)
    await until_heard(PipelineFailed)


async def test_what_is_accepted_is_neither_open_nor_put_right_for_who_goes_on(host, brief, workspace):
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, inspector="sleep 986")), timeout=5)
    await until_its_tool_runs("sleep 986")
    issues = [Issue("y", 1, "lint", "error", each, "") for each in ("odd", "bad")]
    feedback = Feedback("inspector", 1, "", issues=issues)
    for word in (
        InspectorDone(1, Loops(), feedback),
        Overrule(1, override_of("odd")),
        InspectorDone(1, Loops(), feedback),
    ):
        sender = ORCHESTRATOR if isinstance(word, Overrule) else PIPELINE.beside("inspector")
        await host.tell(sender, PIPELINE, word, timeout=5)
    agent = host._slots[PIPELINE].agent
    async with asyncio.timeout(5):
        while agent.state.found.inspector.pending != issues[1:]:
            await asyncio.sleep(0.01)
    assert agent.state.found.inspector.resolved == []


@pytest.mark.parametrize("check", ["inspector", "tester"])
async def test_a_verdict_that_was_on_its_way_when_its_check_was_waived_does_not_count(host, brief, workspace, check):
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, **{check: "sleep 983"})), timeout=5)
    # By then the check has asked what is waived: of what comes to be waived now only the pipeline knows.
    await until_its_tool_runs("sleep 983")
    agent = host._slots[PIPELINE].agent
    started = agent.state.brief
    work = Work(git(Path(brief.repo), "rev-parse", "HEAD"), None, [])
    agent.state.brief = msgspec.structs.replace(started, waived=(check,))
    feedback = Feedback(check, 1, "it is bad")
    verdicts = {
        "inspector": InspectorDone(1, Loops(), feedback, final=True, work=work),
        "tester": messages.TesterDone(1, Loops(), work, feedback, final=True),
    }
    await host.tell(PIPELINE.beside(check), PIPELINE, verdicts[check], timeout=5)
    await until_merged()


async def test_an_attempt_tells_how_it_is_going_and_what_it_has_changed(host, brief, workspace):
    assert await host.ask(ORCHESTRATOR, PIPELINE, DescribeTask(), timeout=5) is None
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief, tester="sleep 979")), timeout=5)
    await until_phase("testing")
    status = await host.ask(ORCHESTRATOR, PIPELINE, DescribeTask(), timeout=5)
    assert isinstance(status, TaskStatus)
    assert (status.attempt, status.phase, status.files_changed) == (1, "testing", ["y"])


@pytest.fixture
def hooked(host):
    """Adds hooks to those of the process, for the test."""
    hooks = runtime_hooks(host.settings.hooks)
    added: list[str] = []

    def add(each: Hook[Any]) -> None:
        hooks.add(each)
        added.append(each.name)

    yield add
    for name in added:
        hooks.remove(name)


async def test_a_hook_before_a_tool_changes_what_it_does_and_one_after_sees_what_came_of_it(
    host, brief, workspace, hooked
):
    seen: list[tuple[str, str]] = []

    @hook(ToolBefore)
    def elsewhere(payload: ToolBefore, ctx: HookContext) -> ToolBefore:
        return msgspec.structs.replace(payload, arguments={**payload.arguments, "path": "z"})

    @hook(ToolAfter)
    def note(payload: ToolAfter, ctx: HookContext) -> None:
        seen.append((payload.tool, payload.result.summary))

    hooked(elsewhere)
    hooked(note)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief)), timeout=5)
    merge = await until_merged()
    assert merge.result.files_changed == ["z"]
    assert seen == [("1 write", "wrote z")]


async def test_a_hook_that_refuses_a_tool_fails_the_attempt_with_its_reason_and_for_good(
    host, brief, workspace, hooked
):
    @hook(ToolBefore)
    def refuse(payload: ToolBefore, ctx: HookContext) -> None:
        raise Abort("nothing is written today")

    hooked(refuse)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief)), timeout=5)
    (failed,) = [each for each in await until_heard(PipelineFailed) if isinstance(each, PipelineFailed)]
    assert (failed.error.type, failed.error.message) == ("aborted_by_hook", "nothing is written today")
    assert not failed.retryable


async def test_a_hook_that_hangs_holds_a_tool_up_no_longer_than_its_deadline(host, brief, workspace, hooked):
    @hook(ToolBefore, deadline_s=0.05)
    async def hang(payload: ToolBefore, ctx: HookContext) -> None:
        await asyncio.Event().wait()

    hooked(hang)
    await host.tell(ORCHESTRATOR, PIPELINE, StartPipeline(checked_by(brief)), timeout=5)
    await until_heard(MergeWork)
