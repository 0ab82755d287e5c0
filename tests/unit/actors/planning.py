"""An orchestrator and an Architect with a scripted model, beside agents that only note what is asked of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from actors.architect import Architect
from actors.job_messages import RunJob
from actors.orchestrator import Orchestrator
from actors.planning_messages import Decide
from sylk_ray.config import Model, Settings
from sylk_ray.jobs import Job
from sylk_ray.messaging import SHARED, Address, Message
from sylk_ray.pipelines.asking import TellEngineer
from sylk_ray.pipelines.brief import CHECKS
from sylk_ray.pipelines.handoff import SteerHandoff
from sylk_ray.pipelines.messages import (
    ChecksPassed,
    MergeWork,
    PipelineFailed,
    PipelinePhase,
    PipelineResult,
    PipelineStopped,
    StartPipeline,
    StopPipeline,
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
    handler,
)
from sylk_ray.runtime.leases import TokenBudgetSpent
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.messages import GrantTokens, JobEnded, JobProgress
from sylk_ray.sessions.records import ErrorRecord, Loops, TaskRecord
from sylk_ray.sessions.workspace import Workspace
from tests.models import ModelServer, RoleScript, call
from tests.unit.actors import SESSION
from tests.unit.actors.test_thinking import Charged, Door
from tests.unit.runtime.conftest import FakeFleet, FakeRouter
from tests.unit.sessions.conftest import git, new_repository

Seen = TypeVar("Seen")
WorldT = TypeVar("WorldT", bound="World")
ORCHESTRATOR = Address(SESSION, "orchestrator", "main")
GUIDE = Address(SHARED, "guide", "main")
PERSON = Address(SHARED, "gateway", "main")
TASK = {"name": "add_total", "prompt": "Write total.py.", "criteria": ["it adds up"]}
PLAN = call(
    "finish", summary="A function is added.", tasks=[TASK], risks=["a sum too large"], edge_cases=["an empty list"]
)


class FakeGuide(Agent[None]):
    role = "guide"
    ended: list[JobRecord] = []

    known: list[JobRecord] = []
    granted: list[GrantTokens] = []

    @handler(concurrent=True)
    async def progress(self, message: JobProgress, ctx: Context) -> None:
        self.known.append(message.record)

    @handler(concurrent=True)
    async def grant(self, message: GrantTokens, ctx: Context) -> None:
        self.granted.append(message)

    @handler(concurrent=True)
    async def over(self, message: JobEnded, ctx: Context) -> None:
        self.ended.append(message.record)


Told = MergeWork | PipelineFailed | PipelinePhase | PipelineStopped | ChecksPassed


class PipelineSays(Message, frozen=True):
    """To a pipeline: tell the orchestrator this."""

    told: Told


class FakePipeline(Agent[None]):
    role = "pipeline"
    started: list[StartPipeline] = []
    stopped: list[str] = []
    told: list[TellEngineer] = []
    steered: list[SteerHandoff] = []
    keeps_going: bool = False
    """Whether what is stopped takes its time to end."""

    @handler(concurrent=True)
    async def start(self, message: StartPipeline, ctx: Context) -> None:
        self.started.append(message)

    @handler(concurrent=True)
    async def stop(self, message: StopPipeline, ctx: Context) -> None:
        self.stopped.append(ctx.address.name)
        if self.keeps_going:
            return
        await ctx.tell(ORCHESTRATOR, PipelineStopped(ctx.address.name, message.attempt))

    @handler(concurrent=True)
    async def tell(self, message: TellEngineer, ctx: Context) -> None:
        self.told.append(message)

    @handler(concurrent=True)
    async def steer(self, message: SteerHandoff, ctx: Context) -> None:
        self.steered.append(message)

    @handler(concurrent=True)
    async def say(self, message: PipelineSays, ctx: Context) -> None:
        await ctx.tell(ORCHESTRATOR, message.told)


class OpenDoor(Door):
    """Lets pipelines in as well."""

    def want(self, request: Any, decide: Any) -> None:
        asyncio.get_running_loop().call_soon(decide, None)

    claim = want

    def give_back(self, key: str) -> None: ...

    @asynccontextmanager
    async def model_call(self, key: str, session: str, provider: str, **more: Any) -> AsyncGenerator[Charged]:
        if self.spent:
            raise TokenBudgetSpent("the session has used its 1,000 tokens.")
        async with super().model_call(key, session, provider, **more) as call:
            yield call

    spent = False


async def eventually(look: Callable[[], Seen]) -> Seen:
    """What is seen when there is something to see."""
    async with asyncio.timeout(20):
        while not (seen := look()):
            await asyncio.sleep(0.01)
    return seen


class World:
    agents: tuple[type[Agent[Any]], ...] = (Orchestrator, Architect, FakePipeline, FakeGuide, FakeRouter, FakeFleet)
    context_window: int | None = None
    """Tokens of the model."""

    def __init__(self, home: Path, repo: Path) -> None:
        self.home, self.repo = home, repo
        self.journals = MemoryJournals()
        self.script = RoleScript()
        self.server = ModelServer(answer=lambda request: self.script(request))
        self.workspace = Workspace(home, SESSION, "demo", repo)

    async def start(self) -> None:
        model = Model(base_url=self.server.url, model="tiny", context_window=self.context_window)
        transport = LocalTransport()
        self.host = Host(
            "a",
            roles=Roles({cls.role: cls for cls in self.agents}),
            transport=transport,
            journals=self.journals,
            clock=SystemClock(),
            settings=Settings(home=self.home, models={"m": model}),
        )
        self.host.leases = OpenDoor()  # type: ignore[assignment]
        self.host.directory.learn(GUIDE, "a")
        transport.join("a", self.host.receive)
        await self.host.open_session(SessionBinding(SESSION, "a"))

    async def submit(
        self, policy: dict[str, Any] | None = None, job: dict[str, Any] | None = None, **moves: Any
    ) -> None:
        self.script = RoleScript(**moves)
        given = {"name": "j", "request": "Add up numbers.", "repo": str(self.repo), "policy": policy or {}}
        job_ = Job.model_validate({**given, **(job or {})})
        base = git(self.repo, "rev-parse", "HEAD")
        record = JobRecord("j-1", "j", SESSION, "demo", str(self.repo), "sylk/demo", JobState.PREPARED, 0.0, base)
        path = self.workspace.directory.job_of("j-1")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job_.model_dump_json())
        await self.host.ask(GUIDE, ORCHESTRATOR, RunJob(record), timeout=10)

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """The last event of a kind, when there are so many of them."""
        return (await eventually(lambda: self.happened(kind)[count - 1 :]))[-1]

    def happened(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.journals.history(SESSION) if event.kind == kind]

    async def decide(self, decision: Any, text: str = "", asking: str = "") -> JobRecord:
        asked = asking or (await self.until("person.asked"))["id"]
        return await self.host.ask(PERSON, ORCHESTRATOR, Decide(asked, decision, text, "ada"), timeout=10)

    def die(self, address: Address) -> None:
        """As with its cell: what it had not committed is gone."""
        slot = self.host._slots.pop(address)
        for task in slot.tasks():
            task.cancel()
        if address == ORCHESTRATOR:
            slot.agent._reminders.close()

    async def ended(self) -> JobRecord:
        return (await eventually(lambda: FakeGuide.ended))[-1]

    async def started(self, task: str = "", attempt: int = 0) -> StartPipeline:
        """The last pipeline that was started, when there is one; of a task, and of an attempt."""

        def those() -> list[StartPipeline]:
            of_task = [each for each in FakePipeline.started if task in ("", each.brief.task)]
            return [each for each in of_task if attempt in (0, each.brief.attempt)]

        return (await eventually(those))[-1]

    async def succeed(self, task: str, attempt: int = 1) -> None:
        """The pipeline's work is done, without a change to merge."""
        await self.started(task, attempt)
        await self._report(task, MergeWork(task, attempt, None, Loops(), PipelineResult()))

    async def fail(self, task: str, why: str = "it does not work", attempt: int = 1, retryable: bool = False) -> None:
        await self.started(task, attempt)
        error = ErrorRecord("tests_failed", why)
        await self._report(task, PipelineFailed(task, attempt, error, Loops(), retryable=retryable))

    async def stopped(self, task: str, attempt: int = 1) -> None:
        """What was to end has ended."""
        await self._report(task, PipelineStopped(task, attempt))

    async def passed(self, attempt: int = 1) -> None:
        """The session's checks."""
        await self.started(CHECKS, attempt)
        await self._report(CHECKS, ChecksPassed(Loops()))

    async def at(self, task: str, attempt: int, phase: str) -> None:
        """A pipeline's phase."""
        await self._report(task, PipelinePhase(task, attempt, phase, Loops()))

    async def _report(self, task: str, told: Told) -> None:
        await self.host.tell(ORCHESTRATOR, Address(SESSION, "pipeline", task), PipelineSays(told), timeout=10)

    async def wish(self, message: Any) -> JobRecord:
        """A person's, to the orchestrator."""
        return await self.host.ask(PERSON, ORCHESTRATOR, message, timeout=10)

    def record(self, task: str) -> TaskRecord:
        return self.host._slots[ORCHESTRATOR].agent.state.tasks[task].record

    def states(self) -> dict[str, str]:
        entries = self.host._slots[ORCHESTRATOR].agent.state.tasks
        return {name: entry.record.state for name, entry in entries.items()}

    async def come_to(self, **states: str) -> None:
        """Wait until tasks are in these states."""
        await eventually(lambda: states.items() <= self.states().items())


@asynccontextmanager
async def opened(tmp_path: Path, world: type[WorldT] = World) -> AsyncGenerator[WorldT]:
    """A world with an empty repository."""
    FakeRouter.places = {}
    FakeGuide.ended.clear()
    FakeGuide.known.clear()
    FakeGuide.granted.clear()
    FakePipeline.started.clear()
    FakePipeline.stopped.clear()
    FakePipeline.told.clear()
    FakePipeline.steered.clear()
    FakePipeline.keeps_going = False
    made = world(tmp_path / "home", new_repository(tmp_path / "repo", {"readme.md": "# Sums\n"}))
    await made.workspace.create(git(made.repo, "rev-parse", "HEAD"))
    await made.start()
    yield made
    await made.host.stop(grace_s=0)
    made.server.close()
