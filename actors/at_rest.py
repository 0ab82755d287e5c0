"""What can be said of a session whose agents are put away: from its records, and from its history on disk."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import msgspec

from actors.archive import Archive
from actors.routing_desk import voices
from actors.task_views import (
    describe_covered,
    describe_issues,
    describe_job,
    describe_results,
    describe_task,
    task_data,
)
from sylk_ray.hooks import Hooks
from sylk_ray.messaging import Address, Event, Request
from sylk_ray.routing import RouteCache, find_task
from sylk_ray.runtime import Context
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobRecord, SessionDirectory, SessionRecord, session_directory
from sylk_ray.speech import CallSkill, Dispatcher, Hear, Heard, NoSuchJob, Planner, Receivers, Said, Say
from sylk_ray.speech.errors import NobodyAtWork
from sylk_ray.speech.messages import SayAtRest
from sylk_ray.speech.tasks import UserTaskQuery

AT_ONCE = 10_000


class AtRest:
    """One utterance to one session. What only its agents could do is refused (NobodyAtWork)."""

    def __init__(self, session: SessionRecord, job: JobRecord | None, ctx: Context, hooks: Hooks) -> None:
        self._session = session
        self._job = job
        self._ctx = ctx
        self._hooks = hooks

    async def say(self, message: SayAtRest) -> Said:
        """Routed as it would be if the session were open."""
        clock = self._ctx.clock
        cache = RouteCache(clock.now)
        receivers = Receivers(self._session.id, router_of(self._session.id), voices(self._ctx.settings))
        dispatcher = Dispatcher(
            self._session.id,
            self._ctx.address,
            receivers=receivers,
            planner=Planner(receivers, cache, now=lambda: datetime.fromtimestamp(clock.now()).astimezone()),
            cache=cache,
            hooks=self._hooks,
            clock=clock,
            ask=self._answer,
            find_task=self._find_task,
        )
        return await dispatcher.say(Say(message.text, timeout_s=message.timeout_s))

    async def _answer(self, target: Address, message: Request[Heard], *, timeout: float) -> Heard:
        skill = message.skill if isinstance(message, CallSkill) else ""
        asked = isinstance(message, Hear)
        if isinstance(message, UserTaskQuery):
            job = self._known_job()
            record = job.tasks[find_task(message.task, job.tasks)]
            return Heard(describe_task(record, None, self._ctx.clock.now()), task_data(record, None))
        if target.role == "orchestrator" and (asked or skill in ("get_status", "workflow")):
            return self._status()
        if target.role == "tester" and (asked or skill == "get_results"):
            return describe_results(await self._latest("tester.report"))
        if target.role == "tester" and skill == "coverage_report":
            return describe_covered(await self._latest("tester.report"))
        if target.role == "inspector" and (asked or skill == "get_issues"):
            return describe_issues(await self._latest("inspector.issues"))
        if target.role == "archivalist" and isinstance(message, Hear):
            return await Archive(self._session.id, self._ctx).answer(message.text, message.intent)
        if target.role == "router" and (asked or skill in ("help", "status", "agents")):
            return self._status() if self._job is not None else Heard(self._state())
        raise NobodyAtWork(
            f"nobody is at work in session {self._session.name}: {self._state()}",
            hint="how its last job, the tests and the issues stand, and what was done before, can be said now; "
            f"`sylk resume` or `sylk submit --session {self._session.name}` bring its agents back",
        )

    def _status(self) -> Heard:
        job = self._known_job()
        told = describe_job(job, job.tasks.values(), detailed=True, now=self._ctx.clock.now())
        return Heard(f"{self._state()}\n{told}", msgspec.to_builtins(job))

    def _state(self) -> str:
        state = "closed" if self._session.closed else self._session.state.value
        return f"session {self._session.name} is {state}, on {self._session.branch}"

    def _known_job(self) -> JobRecord:
        if self._job is None:
            raise NoSuchJob(
                f"no job has run in session {self._session.name}",
                hint=f"submit one: `sylk submit JOB.yaml --session {self._session.name}`",
            )
        return self._job

    async def _find_task(self, name: str) -> str:
        job = self._known_job()
        return find_task(name, job.tasks)

    async def _latest(self, kind: str) -> dict[str, Event]:
        path = SessionDirectory(session_directory(self._ctx.settings.home, self._session.id)).journal
        return await asyncio.to_thread(_latest_by_task, path, kind)


def _latest_by_task(path: Path, kind: str) -> dict[str, Event]:
    found: dict[str, Event] = {}
    after = 0
    while events := read_events(path, after, AT_ONCE):
        after = events[-1].sequence
        found.update({event.task: event for event in events if event.kind == kind})
    return found
