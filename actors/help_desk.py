"""The part of an orchestrator by which an Engineer's question is answered: by the Architect, or else by a person."""

from __future__ import annotations

import msgspec

from actors.adjusting_desk import AdjustingDesk
from actors.orchestrator_state import Help, Question
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
        question = (task, attempt, message.question)
        if question in self.state.helps or not self._is_current(task, attempt):
            return
        if sum(each[:2] == (task, attempt) for each in self.state.helps) >= MOST_QUESTIONS:
            self._keep(question, Help(answer="You have asked enough. Go on with what you know."))
            return
        self._keep(question, Help())
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
        known = self.state.helps.get((message.task, message.attempt, message.question))
        return known.answer if known is not None else NOT_ANSWERED

    @handler()
    async def advised(self, message: Advised, ctx: Context) -> None:
        """Pass it on, or ask a person."""
        question = (message.task, message.attempt, message.question)
        if question not in self._unanswered() or not self._is_current(message.task, message.attempt):
            return
        if message.answer:
            await self._helped(question, message.answer, "architect", ctx)
            return
        text = f"{message.task} asks: {message.question}"
        self._keep(question, Help(await self._ask_person("question", text, ctx, by="engineer")))
        self._note_state()

    async def _person_helped(self, asking: Asking, answer: str, who: str, ctx: Context) -> None:
        for question, help_ in self._unanswered().items():
            if help_.asking == asking.id:
                await self._helped(question, answer or NOT_ANSWERED, who, ctx)

    async def _helped(self, question: Question, answer: str, who: str, ctx: Context) -> None:
        task, attempt, asked = question
        self._keep(question, Help(answer=answer))
        if not self._waits_for_help(task, attempt):
            self._scheduler.go_on(task, attempt, ctx.clock.now())
        await ctx.publish("engineer.helped", task=task, question=asked, answer=answer, by=who)
        self._set_alarm()
        self._note_state()

    async def _withdraw_questions(self, ctx: Context) -> None:
        """Nobody waits any more for what an attempt has asked that is over."""
        for question, help_ in self._unanswered().items():
            if not self._is_current(*question[:2]):
                self._keep(question, Help(answer=NOT_ANSWERED))
                for asking in [each for each in self._asking if each.id == help_.asking]:
                    await self._decided(asking, "deny", "its attempt is over", NOBODY, ctx)

    def _waits_for_help(self, task: str, attempt: int) -> bool:
        """Whether an attempt's clock has to stand still for a question."""
        return any(each[:2] == (task, attempt) for each in self._unanswered())

    def _unanswered(self) -> dict[Question, Help]:
        return {question: help_ for question, help_ in self.state.helps.items() if help_.answer is None}

    def _keep(self, question: Question, help_: Help) -> None:
        """Those of a later attempt take the place of those before."""
        task, attempt, _ = question
        kept = {each: known for each, known in self.state.helps.items() if each[0] != task or each[1] == attempt}
        self.state.helps = {**kept, question: help_}
