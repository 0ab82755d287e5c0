"""The loop: a model is asked, what it calls is used, and it is told what came of it, until there is a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic

import msgspec

from sylk_ray.llm import ContextTooLong, Reply, Request, Tool, ToolCall, ToolResult, Turn, Usage, User
from sylk_ray.thinking.model import Ended, Heard, Matter, Outcome, ResultT, ThinkingLimits
from sylk_ray.thinking.prompts import Prompt
from sylk_ray.thinking.repeats import Repeats
from sylk_ray.thinking.schemas import schema_of
from sylk_ray.thinking.summing import ASKED, SUM_UP, Checkpoint, GoOn, Pause, Reason, Summary, of_calls
from sylk_ray.thinking.toolbox import Answer, Toolbox
from sylk_ray.thinking.window import FULL, Window

Ask = Callable[[int, Request], Awaitable[Reply]]
"""Asks the model; the number counts the calls of this matter from 1."""
Use = Callable[[str, str, Mapping[str, Any]], Awaitable[Answer]]
"""Uses a tool: a name that no other use of this matter has, the tool's, and its arguments."""
Check = Callable[[ResultT, Sequence[ResultT]], Awaitable[str]]
"""What is wrong with a result, for the model; empty when it will do. It is given those as well that something was wrong
with before: what may be right after all is asked about once."""

Hear = Callable[[int], Awaitable[Heard]]
"""What others have said meanwhile, for the model to know before its next reply; the number as in ``Ask``."""

Note = Callable[[Checkpoint], Awaitable[None]]
"""What a model knows at that point of its conversation, for others to find."""

LISTS_FROM = 16_000
"""Tokens of a window in which a model is told what it could load besides. Who reads less is a small model: it takes
what it is offered for what it is to do, and the room is better used otherwise."""
LONG_ANSWER = 200
"""Characters of an answer that tells nothing new when it comes again, whatever was asked; a short one may."""
_CUT_OFF = "Your reply was cut off at its limit of tokens. Say less at once: write large files in parts."


async def think(
    matter: Matter[ResultT],
    toolbox: Toolbox,
    *,
    ask: Ask,
    use: Use,
    limits: ThinkingLimits | None = None,
    window: int | None = None,
    check: Check[ResultT] | None = None,
    hear: Hear | None = None,
    go_on: GoOn | None = None,
    full_at: float = FULL,
    note: Note | None = None,
    note_at: Sequence[float] = (),
    now: Callable[[], float] = time.monotonic,
) -> Outcome[ResultT]:
    """Until the model gives a result that ``check`` finds right, or a limit is reached; then it is asked for the result
    once more, with no other tool. ``window`` is the tokens that the model can read; when the part ``full_at`` of it is
    used, and nothing can be left out, the model sums up what it knows, and the conversation begins anew with that.
    ``go_on`` is told of it, as when that is wished for (``hear``). ``note`` is told what is known then, and when each
    part ``note_at`` of the window is used for the first time. Raises what ``ask`` and ``use`` raise."""
    room = Window(window, full_at)
    noting = _Noting(note, tuple(note_at))
    thinking = _Thinking(matter, toolbox, ask, use, limits or ThinkingLimits(), room, check, hear, go_on, noting, now)
    return await thinking.run()


class _Noting:
    """Tells of checkpoints, each part of the window once in a conversation."""

    def __init__(self, note: Note | None, parts: tuple[float, ...]) -> None:
        self._note = note
        self._parts = parts
        self._reached = 0.0

    async def at(self, used: float, summary: Callable[[], Summary]) -> None:
        """So much of the window is used now."""
        passed = max((part for part in self._parts if part <= used), default=0.0)
        if passed > self._reached:
            self._reached = passed
            await self.tell(Checkpoint(summary(), "checkpoint", used))

    async def begin_anew(self, pause: Pause) -> None:
        """The conversation ends, and another begins."""
        self._reached = 0.0
        await self.tell(Checkpoint(pause.summary, pause.reason, pause.used))

    async def tell(self, checkpoint: Checkpoint) -> None:
        if self._note is not None:
            await self._note(checkpoint)


class _Thinking(Generic[ResultT]):
    def __init__(
        self,
        matter: Matter[ResultT],
        toolbox: Toolbox,
        ask: Ask,
        use: Use,
        limits: ThinkingLimits,
        window: Window,
        check: Check[ResultT] | None,
        hear: Hear | None,
        go_on: GoOn | None,
        noting: _Noting,
        now: Callable[[], float],
    ) -> None:
        self._matter = matter
        self._toolbox = toolbox
        self._ask = ask
        self._use = use
        self._limits = limits
        self._window = window
        self._check = check
        self._hear = hear
        self._go_on = go_on
        self._noting = noting
        self._now = now
        self._began = now()
        self._turns: list[Turn] = [User(matter.task)]
        self._lists = window.tokens is None or window.tokens >= LISTS_FROM
        self._system = _system(matter.system, toolbox.listing() if self._lists else "")
        self._finish = Tool(matter.finish, matter.about, schema_of(matter.result))
        self._asked = 0
        self._begun = False
        """Whether the model has replied in this conversation."""
        self._usage = Usage()
        self._price: float | None = 0.0
        self._repairs: list[str] = []
        self._refused = 0
        self._silent = 0
        self._said = ""
        self._sent_back: list[ResultT] = []
        self._changes: list[tuple[str, Mapping[str, Any]]] = []
        self._repeats = Repeats(limits.repeats)

    async def run(self) -> Outcome[ResultT]:
        while (ended := self._at_limit()) is None:
            if reason := await self._pausing():
                if not await self._begin_anew(reason):
                    ended = "window"
                    break
                continue
            result = await self._take(await self._reply((*self._offered(), self._finish)))
            if result is not None:
                return self._outcome(result, "done")
        return self._outcome(await self._last_word(ended), ended)

    async def _pausing(self) -> Reason | None:
        """Why the conversation is not to go on, if it is not; what was said meanwhile is told in it."""
        heard = await self._hear(self._asked + 1) if self._hear is not None else Heard()
        self._turns += [User(f"The person says meanwhile: {text}") for text in heard.said]
        if heard.hand_off:
            return "asked_by_user"
        if self._window.full(self._turns):
            return "context_full"
        await self._noting.at(self._window.used(self._turns), lambda: of_calls(self._changes, self._said))
        return None

    async def _begin_anew(self, reason: Reason) -> bool:
        """With what the model has summed up; whether there is room then. What is too long from the beginning is no
        shorter for another."""
        if reason == "context_full" and not self._begun:
            return False
        used = self._window.used(self._turns)
        summary = await self._summed_up()
        pause = Pause(summary, reason, used, self._asked, self._usage.input + self._usage.output)
        await self._noting.begin_anew(pause)
        if self._go_on is not None:
            waits_since = self._now()
            task = await self._go_on(pause)
            self._began += self._now() - waits_since
        else:
            task = f"{self._matter.task}\n\n# You have been at this before\n{pause.summary.as_told()}"
        self._turns = [User(task)]
        self._window = self._window.emptied()
        self._begun, self._silent = False, 0
        self._repeats.begin_anew()
        return not self._window.full(self._turns)

    async def _summed_up(self) -> Summary:
        if not self._begun:
            return Summary()
        self._turns.append(User(ASKED))
        try:
            reply = await self._reply((SUM_UP,), SUM_UP.name)
        except ContextTooLong:
            return of_calls(self._changes, self._said)
        for call in reply.calls:
            if call.name == SUM_UP.name and not call.problem:
                try:
                    return msgspec.convert(call.arguments, Summary)
                except msgspec.ValidationError:
                    self._refused += 1
        return of_calls(self._changes, self._said)

    def _offered(self) -> tuple[Tool, ...]:
        """Without what only leads it round in circles, until something has changed."""
        offered = self._toolbox.offered(loading=self._lists)
        return tuple(tool for tool in offered if tool.name not in self._repeats.tired)

    async def _reply(self, tools: tuple[Tool, ...], choice: str = "auto") -> Reply:
        self._asked += 1
        reply = await self._fitting_reply(tools, choice)
        used = reply.usage
        self._usage = Usage(
            self._usage.input + used.input,
            self._usage.output + used.output,
            self._usage.cached + used.cached,
            self._usage.estimated or used.estimated,
        )
        self._price = None if self._price is None or reply.price is None else self._price + reply.price
        self._repairs += reply.repairs
        self._said = reply.text or self._said
        return reply

    async def _fitting_reply(self, tools: tuple[Tool, ...], choice: str) -> Reply:
        """What is too long for the provider, whatever we thought, is made shorter and sent once more."""
        while True:
            turns = self._window.fit(self._turns)
            request = Request(system=self._system, messages=tuple(turns), tools=tools, tool_choice=choice)
            try:
                reply = await self._ask(self._asked, request)
            except ContextTooLong:
                if not self._window.shrink(self._turns):
                    raise
                self._asked += 1
            else:
                self._window.read(len(turns), reply.usage)
                return reply

    async def _take(self, reply: Reply) -> ResultT | None:
        """Go through a reply: the result if it has a right one, else the conversation goes on."""
        self._begun = True
        self._turns.append(reply.turn)
        if not reply.calls:
            self._silent += 1
            self._turns.append(User(self._prompting(reply)))
            return None
        self._silent = 0
        result: ResultT | None = None
        others = [call for call in reply.calls if call.name != self._matter.finish]
        answers = dict(zip((call.id for call in others), await self._used(others), strict=True))
        for call in reply.calls:
            if call.name == self._matter.finish:
                result, problem = await self._finished(call, alone=not others)
                if problem and (again := self._repeats.told(call.name, call.arguments, problem, number=self._asked)):
                    problem = f"{problem}\n\n{again}"
                answers[call.id] = Answer(problem or "noted", failed=bool(problem))
        self._refused += sum(answer.failed for answer in answers.values())
        self._turns += [
            ToolResult(call.id, call.name, answers[call.id].text, answers[call.id].failed) for call in reply.calls
        ]
        return result

    def _prompting(self, reply: Reply) -> str:
        if reply.problem:
            return reply.problem
        if reply.stop == "length":
            return _CUT_OFF
        return f"Go on: use a tool, or call {self._matter.finish} when there is nothing left to do."

    async def _used(self, calls: list[ToolCall]) -> list[Answer]:
        """In order, for one may need what another has made; those that only look together."""
        if all(self._toolbox.looks(call.name) for call in calls):
            return list(await asyncio.gather(*(self._one(each, call) for each, call in enumerate(calls, 1))))
        return [await self._one(each, call) for each, call in enumerate(calls, 1)]

    async def _one(self, place: int, call: ToolCall) -> Answer:
        # What is not offered has been found wrong already: it is refused where that is also recorded, and what was only
        # not loaded is loaded by being called.
        if not self._toolbox.load(call.name) and call.problem and not self._toolbox.withholds(call.name):
            return Answer(call.problem, failed=True)
        answer = await self._use(f"{self._asked}.{place} {call.name}", call.name, call.arguments)
        looks = self._toolbox.looks(call.name)
        if not looks and not answer.failed:
            self._changes.append((call.name, call.arguments))
            self._repeats.world_changed(call.name, call.arguments, answer.text)
        told = self._repeats.told(
            call.name,
            call.arguments,
            answer.text,
            number=self._asked,
            whatever_asked=answer.failed or (looks and len(answer.text) >= LONG_ANSWER),
        )
        return msgspec.structs.replace(answer, text=f"{answer.text}\n\n{told}") if told else answer

    async def _finished(self, call: ToolCall, *, alone: bool) -> tuple[ResultT | None, str]:
        if call.problem:
            return None, call.problem
        if not alone:
            return None, f"call {call.name} alone, when you have seen what came of the other calls"
        try:
            result = msgspec.convert(call.arguments, self._matter.result)
        except msgspec.ValidationError as problem:
            return None, f"the arguments of {call.name} are wrong: {problem}"
        if self._check is not None and (problem := await self._check(result, tuple(self._sent_back))):
            self._sent_back.append(result)
            return None, problem
        return result, ""

    def _at_limit(self) -> Ended | None:
        limits = self._limits
        # The last turn is kept for the result.
        if self._asked >= limits.turns - 1:
            return "turns"
        if self._usage.input + self._usage.output >= limits.tokens:
            return "tokens"
        if self._now() - self._began >= limits.seconds:
            return "time"
        if self._repeats.hopeless:
            return "repeats"
        return "silent" if self._silent > limits.silent else None

    async def _last_word(self, ended: Ended) -> ResultT | None:
        """What there is of the result. It is not checked: that it is not all is known."""
        why = _WHY[ended]
        self._turns.append(User(f"{why} Call {self._matter.finish} now, with what there is, and say what is missing."))
        reply = await self._reply((self._finish,), self._matter.finish)
        for call in reply.calls:
            if call.name == self._matter.finish and not call.problem:
                try:
                    return msgspec.convert(call.arguments, self._matter.result)
                except msgspec.ValidationError:
                    self._refused += 1
        return None

    def _outcome(self, result: ResultT | None, ended: Ended) -> Outcome[ResultT]:
        return Outcome(
            result=result,
            ended=ended,
            turns=self._asked,
            usage=self._usage,
            price=self._price,
            repairs=tuple(self._repairs),
            refused=self._refused,
            said=self._said,
        )


def _system(told: Prompt | str, skills: str) -> str:
    if isinstance(told, Prompt):
        return told.told(skills=skills)
    return f"{told}\n\n# Skills\n{skills}" if skills else told


_WHY: dict[Ended, str] = {
    "turns": "There is no turn left.",
    "tokens": "The tokens for this task are used up.",
    "time": "The time for this task is over.",
    "repeats": "You go round in circles.",
    "silent": "You have used no tool and given no result.",
    "window": "The conversation is too long to go on.",
}
