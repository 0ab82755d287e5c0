"""How a worker of a pipeline thinks: each call of its model and each use of a tool is a step of its handler."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from actors.patience import LOOKS_EVERY_S, ask_patiently, until_told
from sylk_ray.context_window import policy_of
from sylk_ray.errors import SylkError
from sylk_ray.hooks import Aborted
from sylk_ray.llm import Meter, Reply, Request
from sylk_ray.pipelines import Brief, Working
from sylk_ray.pipelines.asking import TokensGiven, TokensWanted
from sylk_ray.runtime import Context
from sylk_ray.runtime.leases import TokenBudgetSpent
from sylk_ray.thinking import Answer, Matter, Outcome, Pause, ThinkingLimits, Toolbox, think
from sylk_ray.thinking.loop import Check, Hear
from sylk_ray.thinking.summing import Checkpoint, GoOn

if TYPE_CHECKING:
    from sylk_ray.llm import Models

ResultT = TypeVar("ResultT", bound=msgspec.Struct)
TRIES = 20
"""With tokens that were granted a moment ago."""
GRACE_S = 300.0
"""For the call that the end of the time finds at work, and the last word."""

_models: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[object, Models]] = weakref.WeakKeyDictionary()


class NoResult(SylkError):
    """A model came to no result within its limits."""

    code = "no_result"


def models_of(ctx: Context) -> Models:
    """This process's models: they share connections and breakers."""
    from sylk_ray.llm import Models

    loop, settings = asyncio.get_running_loop(), ctx.settings
    known = _models.get(loop)
    if known is None or known[0] is not settings:
        known = _models[loop] = settings, Models(settings.models, settings.model_for)
    return known[1]


def fitting(role: str, most: int, ctx: Context) -> int:
    """Characters of one part of what the role's model is told: ``most``, or about a quarter of its window if that is
    less, for all of it has to be read with what comes after."""
    return min(most, models_of(ctx).window(role) or most)


async def think_as(
    worker: Working[Any],
    brief: Brief,
    matter: Matter[ResultT],
    toolbox: Toolbox,
    ctx: Context,
    *,
    check: Check[ResultT] | None = None,
    hear: Hear | None = None,
    go_on: GoOn | None = None,
    spent: tuple[int, int] = (0, 0),
) -> tuple[ResultT, Outcome[ResultT]]:
    """The result, and how it was come by. ``hear`` is asked before each call for what a person says meanwhile, and
    ``go_on`` when the conversation is full. ``spent`` are the turns and tokens that others have used for the same; it
    has two turns at least. Raises NoResult, and what asking a model raises."""
    role, models = worker.role, models_of(ctx)
    # Also before anything is done: without a model there is no need to begin.
    window = models.window(role)
    spec = brief.assignment.thinking
    turns, tokens = spent
    limits = ThinkingLimits(turns=max(2, spec.turns - turns), tokens=max(1, spec.tokens - tokens), seconds=spec.seconds)

    # The last word is asked for when the time is over, and takes some itself.
    until = ctx.clock.now() + spec.seconds + GRACE_S

    async def ask(number: int, request: Request) -> Reply:
        ctx.progress(f"the {role} thinks (turn {number})", task=brief.task)
        key = f"{brief.session}/model/{brief.task}#{brief.attempt}/{role}/{number}"

        def admit(provider: str, tokens: int) -> AbstractAsyncContextManager[Meter]:
            return ctx.leases.model_call(key, brief.session, provider, estimate=tokens, lane=brief.lane)

        async def call() -> Reply:
            def ask_it(waited: float) -> Awaitable[Reply]:
                return models.call(role, request, admit=admit, deadline=until + waited)

            reply = await _with_tokens(ask_it, ctx)
            await ctx.publish("model.called", task=brief.task, role=role, **_told(reply))
            return reply

        return await ctx.step(f"model {number}", call, result=Reply)

    async def use(name: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        async def do(given: Mapping[str, Any]) -> Answer:
            answer = await toolbox.use(tool, given)
            if answer.denied:
                await ctx.publish(
                    "permission.denied",
                    task=brief.task,
                    role=role,
                    tool=tool,
                    permission=answer.denied,
                    reason=answer.text.partition("\n")[0],
                )
            return answer

        if toolbox.governs(tool):
            return await toolbox.use(tool, arguments)
        ctx.progress(f"the {role} uses {tool}", task=brief.task)
        try:
            looks = toolbox.looks(tool)
            return await worker.tool(
                f"use {name}",
                brief,
                arguments,
                do,
                ctx,
                result=Answer,
                looks=looks,
                writes=lambda given: toolbox.writes(tool, given),
            )
        except Aborted as refused:
            return Answer(f"it was refused: {refused}", failed=True, denied="hook")

    async def checked(result: ResultT, earlier: Sequence[ResultT]) -> str:
        # What is looked at may be another thing by the time that the handler is run again.
        return await ctx.step("check", check, result, earlier, result=str) if check is not None else ""

    async def begin_anew(pause: Pause) -> str:
        nonlocal until
        await ctx.publish("context.full", task=brief.task, role=role, reason=pause.reason, used=round(pause.used, 2))
        if go_on is not None:
            began = ctx.clock.now()
            task = await go_on(pause)
            until += ctx.clock.now() - began
            return task
        return all_told(matter.task, told("You have been at this before", pause.summary.as_told()))

    policy = policy_of(role)

    async def note(checkpoint: Checkpoint) -> None:
        await ctx.publish(
            "context.checkpoint",
            task=brief.task,
            role=role,
            category=policy.category,
            reason=checkpoint.reason,
            used=round(checkpoint.used, 2),
            summary=checkpoint.summary.as_told(),
        )

    outcome = await think(
        matter,
        toolbox,
        ask=ask,
        use=use,
        limits=limits,
        window=window,
        check=checked,
        hear=hear,
        go_on=begin_anew,
        full_at=policy.limit,
        note=note,
        note_at=policy.checkpoints,
    )
    await ctx.publish(
        "thinking.ended",
        task=brief.task,
        role=role,
        ended=outcome.ended,
        turns=outcome.turns,
        tokens=outcome.usage.input + outcome.usage.output,
        price=outcome.price,
        repairs=len(outcome.repairs),
        refused=outcome.refused,
    )
    if outcome.result is None:
        said = f"; its last words: {outcome.said[:300]}" if outcome.said else ""
        raise NoResult(
            f"the {role}'s model came to no result in {outcome.turns} turns ({outcome.ended}){said}",
            hint="see `sylk logs`, or try another model: `model_for` in the settings",
        )
    return outcome.result, outcome


async def _with_tokens(call: Callable[[float], Awaitable[Reply]], ctx: Context) -> Reply:
    """Make a call of a model; when the session has no tokens left for it, a person is asked for more. ``call`` is told
    for how many seconds that was. Raises TokenBudgetSpent when there are none."""
    orchestrator = ctx.address.beside("orchestrator", "main")
    grants, tries, waited = 0, 0, 0.0
    while True:
        try:
            return await call(waited)
        except TokenBudgetSpent as spent:
            began = ctx.clock.now()
            if tries:  # what was granted may not be known everywhere yet
                tries -= 1
                await ctx.clock.sleep(LOOKS_EVERY_S)
            else:
                await ask_patiently(ctx, orchestrator, TokensWanted(grants, spent.message))
                grant = await until_told(ctx, orchestrator, TokensGiven(grants))
                if not grant.more:
                    raise
                grants, tries = grant.number, TRIES
            waited += ctx.clock.now() - began


def told(title: str, text: str | Sequence[str]) -> str:
    """A section of what a model is told of its task; nothing when there is nothing to say."""
    lines = text if isinstance(text, str) else "\n".join(f"- {each}" for each in text)
    return f"# {title}\n{lines.strip()}" if lines.strip() else ""


def all_told(*sections: str) -> str:
    """One after the other."""
    return "\n\n".join(section for section in sections if section)


def _told(reply: Reply) -> dict[str, Any]:
    return {
        "model": reply.model,
        "input": reply.usage.input,
        "output": reply.usage.output,
        "price": reply.price,
        "seconds": round(reply.latency_s, 3),
        "attempts": reply.attempts,
        "repairs": list(reply.repairs),
    }
