"""Answers what neither the code nor its history can: how something is done well elsewhere, as a model knows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from actors.archive import recalled, told_of
from actors.chronicle import asked_as
from actors.consulting_messages import Findings, Researched, ResearchNow, ResearchWanted, WasResearched
from actors.patience import ask_patiently, until_told
from actors.thinking import NoResult, all_told, think_as, told
from sylk_ray.codebase.requests import Recall
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Message
from sylk_ray.pipelines import Brief, Working
from sylk_ray.pipelines.brief import Assignment
from sylk_ray.routing import TARGETS
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.store import read_session
from sylk_ray.speech import Hear, Heard
from sylk_ray.thinking import Matter, Toolbox, prompt
from sylk_ray.tools.specs import Limits, Sandbox

MOST_KEPT = 100
RELATED = 3
"""Answers to other questions that the model is told."""


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
    async def research_wanted(self, message: ResearchWanted, ctx: Context) -> int:
        """It is known from now on, and thought about in its turn."""
        before = self._before(message.question)
        if before.found is None:
            await ctx.tell(ctx.address, ResearchNow(message.brief, message.question, message.known, before.failed))
        return before.failed

    @handler()
    async def research_now(self, message: ResearchNow, ctx: Context) -> None:
        """Think about it, unless it was asked twice."""
        before = self._before(message.question)
        if before.found is not None or before.failed > message.failed:
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
            self._fail(message, error.message)
            return
        await ctx.publish(
            "academic.researched",
            task=brief.task,
            question=message.question,
            told=as_told(found),
            confidence=found.confidence,
        )
        self._keep(message.question, Findings(found))

    @handler(concurrent=True)
    async def hear(self, message: Hear, ctx: Context) -> Heard:
        """A person's question, answered as an agent's is. Raises NoResult."""
        question = " ".join(message.text.split())
        brief = await asyncio.to_thread(_brief, ctx.settings.home, ctx.address.session)
        within = max(0.0, ctx.deadline - ctx.clock.now()) if ctx.deadline else None
        return Heard(await researched(ctx, brief, question, within=within))

    @handler(concurrent=True)
    async def was_researched(self, message: WasResearched, ctx: Context) -> Findings | None:
        """What came of it so far."""
        known = self._before(message.question)
        return known if known.found is not None or known.failed > message.failed else None

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw: who has asked does without."""
        if isinstance(message, ResearchNow):
            self._fail(message, f"it failed: {error!r}")

    def _before(self, question: str) -> Findings:
        return self.state.findings.get(question, Findings())

    def _fail(self, message: ResearchNow, problem: str) -> None:
        self._keep(message.question, Findings(problem=problem, failed=message.failed + 1))

    def _keep(self, question: str, findings: Findings) -> None:
        others = {each: known for each, known in self.state.findings.items() if each != question}
        self.state.findings = dict([*others.items(), (question, findings)][-MOST_KEPT:])


async def researched(ctx: Context, brief: Brief, question: str, known: str = "", *, within: float | None = None) -> str:
    """What the Academic says to a question: what was found out about it in any session, or else now, ``within`` so many
    seconds. Whoever asks for that is the Academic itself, or one who thinks. Raises NoResult, and a DeliveryError."""
    try:
        before = await recalled(ctx, Recall(query=question, root=brief.repo, domain="academic", k=RELATED))
    except SylkError as error:
        ctx.log.info("what was found out before cannot be said: %s", error)
        before = []
    for each in before:
        if each.text.startswith(asked_as(question)):
            return f"{each.text.removeprefix(asked_as(question))}\n(asked before, in {each.session})"
    related = f"\nFound out before:\n{told_of(before)}" if before else ""
    academic = ctx.address.beside(Academic.role, "main")
    failed = await ask_patiently(ctx, academic, ResearchWanted(brief, question, known + related))
    try:
        async with asyncio.timeout(within):
            findings = await until_told(ctx, academic, WasResearched(question, failed))
    except TimeoutError:
        raise NoResult("the Academic still thinks about it", hint="ask again in a while: it is answered once") from None
    if findings.found is None:
        raise NoResult(findings.problem)
    return as_told(findings.found)


def as_told(found: Researched) -> str:
    """For a reader."""
    lines = [f"{found.answer} (confidence: {found.confidence})", *(f"Source: {each}" for each in found.sources)]
    return "\n".join([*lines, *(f"Open: {each}" for each in found.open_questions)])


def _brief(home: Path, session: str) -> Brief:
    """Of a question that belongs to no task."""
    record = read_session(home, session)
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
