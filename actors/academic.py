"""Answers what neither the code nor its history can: how something is done well elsewhere, as a model knows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from actors.consulting_messages import Findings, Researched, ResearchNow, ResearchWanted, WasResearched
from actors.patience import LOOKS_EVERY_S
from actors.thinking import NoResult, all_told, think_as, told
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Message
from sylk_ray.pipelines import Brief, Working
from sylk_ray.pipelines.brief import Assignment
from sylk_ray.routing import TARGETS
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions import SessionDirectory, SessionRecord, session_directory
from sylk_ray.speech import Hear, Heard
from sylk_ray.thinking import Matter, Toolbox, prompt
from sylk_ray.tools.specs import Limits, Sandbox

MOST_KEPT = 100


class AcademicState(msgspec.Struct):
    """``findings`` by question, the oldest first; ``number`` counts those that were thought about."""

    findings: dict[str, Findings] = {}
    number: int = 0


class Academic(Working[AcademicState]):
    """One question after the other, each once in a session. It reads nothing but the question: its sources are what
    its model names, and it says how sure it is. ``model_for: {academic: ...}`` gives it another model than the others.
    """

    role = "academic"
    about = TARGETS["academic"]

    @handler(concurrent=True)
    async def research_wanted(self, message: ResearchWanted, ctx: Context) -> None:
        """It is known from now on, and thought about in its turn."""
        if message.question not in self.state.findings:
            await ctx.tell(ctx.address, ResearchNow(message.brief, message.question, message.known))

    @handler()
    async def research_now(self, message: ResearchNow, ctx: Context) -> None:
        """Think about it, unless it was asked twice."""
        before = self.state.findings.get(message.question)
        if before is not None and (before.found is not None or not message.again):
            return
        self.state.number += 1
        brief = msgspec.structs.replace(message.brief, attempt=self.state.number)
        matter = Matter(
            system=prompt("academic"),
            task=all_told(
                told("Question", message.question),
                told("What is known of it here", message.known),
                told("Now", "Call finish with the answer."),
            ),
            result=Researched,
            about="Give the answer. Call it once.",
        )
        try:
            found, _ = await think_as(self, brief, matter, Toolbox([], frozenset()), ctx)
        except SylkError as error:
            self._keep(message.question, Findings(problem=error.message))
            return
        await ctx.publish(
            "academic.researched",
            task=brief.task,
            question=message.question,
            answer=found.answer,
            confidence=found.confidence,
            sources=list(found.sources),
        )
        self._keep(message.question, Findings(found))

    @handler(concurrent=True)
    async def hear(self, message: Hear, ctx: Context) -> Heard:
        """A person's question, answered as an agent's is. Raises NoResult."""
        question = " ".join(message.text.split())
        before = self.state.findings.get(question)
        if before is None or before.found is None:
            brief = await asyncio.to_thread(_brief, ctx.settings.home, ctx.address.session)
            await ctx.tell(ctx.address, ResearchNow(brief, question, again=True))
        # Whoever asked is told when it takes too long; it is answered all the same, for the next who asks.
        while (now := self.state.findings.get(question)) is None or (now is before and now.found is None):
            await ctx.clock.sleep(LOOKS_EVERY_S)
        if now.found is None:
            raise NoResult(now.problem)
        return Heard(as_told(now.found), msgspec.to_builtins(now.found))

    @handler(concurrent=True)
    async def was_researched(self, message: WasResearched, ctx: Context) -> Findings | None:
        """What came of it so far."""
        return self.state.findings.get(message.question)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw: who has asked does without."""
        if isinstance(message, ResearchNow):
            self._keep(message.question, Findings(problem=f"it failed: {error!r}"))

    def _keep(self, question: str, findings: Findings) -> None:
        kept = {**self.state.findings, question: findings}
        self.state.findings = dict(list(kept.items())[-MOST_KEPT:])


def as_told(found: Researched) -> str:
    """For a reader."""
    lines = [f"{found.answer} (confidence: {found.confidence})", *(f"Source: {each}" for each in found.sources)]
    return "\n".join([*lines, *(f"Open: {each}" for each in found.open_questions)])


def _brief(home: Path, session: str) -> Brief:
    """Of a question that belongs to no task."""
    record = msgspec.json.decode(
        SessionDirectory(session_directory(home, session)).session.read_bytes(), type=SessionRecord
    )
    return Brief(
        session=session,
        session_name=record.name,
        repo=record.repo,
        task=Academic.role,
        attempt=0,
        assignment_json=Assignment().model_dump_json(),
        limits_json=Limits().model_dump_json(),
        sandbox_json=Sandbox().model_dump_json(),
        max_loops=0,
    )
