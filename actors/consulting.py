"""Asking others before one works: who knows the code, who knows what was done before, who knows the world.

The order is the spec's (2.1): the Librarian, then the Archivalist, then the Academic. Whoever is named, those before
are asked as well: what is there already costs nothing, and the last one is a call of a model. What they say is told to
whoever asks; it never takes the place of the work.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from actors.academic import researched
from actors.archive import asked_of_archivalist, recalled, told_of
from actors.knowledge_messages import ask_codebase
from actors.skills.librarian import librarian_skills
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Preflight, PreflightAnswer, Recall
from sylk_ray.codebase.serving.opening import DIRECTORY
from sylk_ray.errors import SylkError
from sylk_ray.pipelines import Brief
from sylk_ray.runtime import Context
from sylk_ray.skills import Skill, run, skill
from sylk_ray.thinking.toolbox import shortened

Whom = Literal["librarian", "archivalist", "academic"]
ORDER: tuple[Whom, ...] = ("librarian", "archivalist", "academic")
REMEMBERED = 5
TOLD_BEFORE = 3
_EACH = 4_000
"""Characters of one's answer."""
Question = Annotated[str, Field(min_length=5, max_length=2_000)]


class Consulting:
    """Of one agent at one matter: nobody is asked the same twice."""

    def __init__(self, brief: Brief, ctx: Context) -> None:
        self._brief = brief
        self._ctx = ctx
        self._said: dict[tuple[Whom, str], str] = {}

    def skill(self) -> Skill:
        """``consult``, to be called with any context."""

        @skill(
            domain="consultation",
            keywords=["consult", "as before", "last time", "in the past", "best practice", "best way", "recommended"],
            only_looks=True,
            needs=("search",),
        )
        async def consult(ctx: object, question: Question, whom: Whom = "archivalist") -> str:
            """Ask what others know, for context. The librarian knows this code, the archivalist what was done and
            decided on it before, the academic good practice elsewhere. Those before the one you name are asked too.

            Args:
                question: What you want to know, in a sentence.
                whom: The last one to be asked.
            """
            return await self.consult(" ".join(question.split()), whom)

        return consult

    async def consult(self, question: str, whom: Whom) -> str:
        """What each says, in order."""
        asked = ORDER[: ORDER.index(whom) + 1]
        told: list[str] = []
        for each in asked:
            said = self._said.get((each, question))
            if said is None:
                await self._ctx.publish("agent.consulted", task=self._brief.task, whom=each, question=question)
                try:
                    said = await self._ask(each, question, "\n".join(told))
                    self._said[each, question] = said
                except SylkError as error:
                    said = f"cannot be asked: {error.message}"
            told.append(f"The {each}: {said}")
        return "\n\n".join(told)

    async def _ask(self, whom: Whom, question: str, known: str) -> str:
        match whom:
            case "librarian":
                said = await self._librarian(question)
            case "archivalist":
                said = await self._archivalist(question)
            case "academic":
                said = await researched(self._ctx, self._brief, question, known)
        return shortened(said, _EACH)

    async def _librarian(self, question: str) -> str:
        async def ask(request: AnyRequest) -> AnyAnswer:
            return await ask_codebase(self._ctx.ask, request, cell=self._ctx.cell)

        search = next(each for each in librarian_skills(ask, self._brief.repo) if each.name == "search_code")
        found = await run(search, {"query": question}, None)
        return found.text if found.status == "found" else f"nothing in this code. {found.hint}"

    async def _archivalist(self, question: str) -> str:
        wanted = Recall(query=question, root=self._brief.repo, k=REMEMBERED)
        return told_of(await recalled(self._ctx, wanted)) or "nothing like it was done before."


def preflight_skill(brief: Brief, ctx: Context) -> Skill:
    """``plan_preflight`` (6.20), to be called with any context."""

    @skill(domain="planning", keywords=["preflight"], only_looks=True, needs=("search",))
    async def plan_preflight(_: object, topic: Annotated[str, Field(min_length=2, max_length=200)]) -> PreflightAnswer:
        """Tell whether there is code, past work or research on a topic, and what that means for the plan.

        Args:
            topic: What is to be built or changed, in two or three words.
        """
        answer = await asked_of_archivalist(ctx, Preflight(topic=topic, root=brief.repo))
        assert isinstance(answer, PreflightAnswer)
        return answer

    return plan_preflight


async def done_before(brief: Brief, words: str, ctx: Context) -> str:
    """What was done on the repository that may concern these words, for who is about to plan. Nothing where nothing is
    known of any: that would start whoever keeps it."""
    if not (ctx.settings.home / DIRECTORY).exists():
        return ""
    try:
        return told_of(await recalled(ctx, Recall(query=words, root=brief.repo, k=TOLD_BEFORE)))
    except SylkError as error:
        ctx.log.info("what was done before cannot be said: %s", error)
        return ""
