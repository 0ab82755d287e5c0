"""The part of an orchestrator by which an Engineer's question is answered: by the Architect, or else by a person."""

from __future__ import annotations

import msgspec

from actors.adjusting_desk import AdjustingDesk
from actors.orchestrator_state import Help
from actors.planning_desk import NOBODY
from actors.planning_messages import Advise, Advised
from sylk_ray.pipelines.asking import HelpWanted, WasHelped
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import Asking

NOT_ANSWERED = "Nobody answered. Do what is most likely meant, and say in the result what you have assumed."
MOST_QUESTIONS = 5
"""Of one attempt."""


class HelpDesk(AdjustingDesk):
    """A question is answered once, whoever asks it again: its Engineer may have died with its cell."""

    @handler()
    async def help_wanted(self, message: HelpWanted, ctx: Context) -> None:
        """Have the Architect answer it. The attempt's clock stands still meanwhile."""
        task, attempt = message.task, message.attempt
        if self._help(task, attempt, message.question) is not None:
            return
        help_ = Help(task, attempt, message.question)
        if not self._is_current(task, attempt):
            return
        if sum(1 for each in self.state.helps if (each.task, each.attempt) == (task, attempt)) >= MOST_QUESTIONS:
            self._keep(msgspec.structs.replace(help_, answer="You have asked enough. Go on with what you know."))
            return
        self._keep(help_)
        self._scheduler.hold_clock(task, attempt, ctx.clock.now())
        await ctx.publish("engineer.asks", task=task, question=message.question)
        self.state.plans += 1
        record = msgspec.structs.replace(self._ledger.record, tasks={})
        prompt = self._job.tasks[task].prompt or ""
        wanted = Advise(record, self.state.plans, task, attempt, message.question, prompt)
        await ctx.tell(ctx.address.beside("architect", "main"), wanted)
        self._note_state()

    @handler(concurrent=True)
    async def was_helped(self, message: WasHelped, ctx: Context) -> str | None:
        """Its answer so far."""
        known = self._help(message.task, message.attempt, message.question)
        return known.answer if known is not None else NOT_ANSWERED

    def _waits_for_help(self, task: str, attempt: int) -> bool:
        """Whether an attempt's clock has to stand still for a question."""
        return any((each.task, each.attempt) == (task, attempt) and each.answer is None for each in self.state.helps)

    async def _withdraw_questions(self, ctx: Context) -> None:
        """Nobody waits any more for what an attempt has asked that is over."""
        for help_ in [each for each in self.state.helps if each.answer is None]:
            if not self._is_current(help_.task, help_.attempt):
                self._keep(msgspec.structs.replace(help_, answer=NOT_ANSWERED))
                for asking in [each for each in self._asking if each.id == help_.asking]:
                    await self._decided(asking, "deny", "its attempt is over", NOBODY, ctx)

    @handler()
    async def advised(self, message: Advised, ctx: Context) -> None:
        """Pass it on, or ask a person."""
        help_ = self._help(message.task, message.attempt, message.question)
        if help_ is None or help_.answer is not None or not self._is_current(help_.task, help_.attempt):
            return
        if message.answer:
            await self._helped(help_, message.answer, "architect", ctx)
            return
        text = f"{message.task} asks: {message.question}"
        asking = await self._ask_person("question", text, ctx, by="engineer")
        self._keep(msgspec.structs.replace(help_, asking=asking))
        self._note_state()

    async def _person_helped(self, asking: Asking, answer: str, who: str, ctx: Context) -> None:
        help_ = next((each for each in self.state.helps if each.asking == asking.id), None)
        if help_ is not None:
            await self._helped(help_, answer or NOT_ANSWERED, who, ctx)

    async def _helped(self, help_: Help, answer: str, who: str, ctx: Context) -> None:
        self._keep(msgspec.structs.replace(help_, answer=answer))
        if not self._waits_for_help(help_.task, help_.attempt):
            self._scheduler.go_on(help_.task, help_.attempt, ctx.clock.now())
        await ctx.publish("engineer.helped", task=help_.task, question=help_.question, answer=answer, by=who)
        self._set_alarm()
        self._note_state()

    def _keep(self, help_: Help) -> None:
        """One of a later attempt takes the place of those before."""
        others = [each for each in self.state.helps if each.task != help_.task or each.attempt == help_.attempt]
        self.state.helps = [*(each for each in others if not _same(each, help_)), help_]

    def _help(self, task: str, attempt: int, question: str) -> Help | None:
        wanted = Help(task, attempt, question)
        return next((each for each in self.state.helps if _same(each, wanted)), None)


def _same(one: Help, other: Help) -> bool:
    return (one.task, one.attempt, one.question) == (other.task, other.attempt, other.question)
