"""An agent that can be spoken to, and what it does about it without a model: it uses its skills."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.hooks import ToolAfter, ToolBefore, runtime_hooks
from sylk_ray.messaging import SHARED, Address
from sylk_ray.routing import commands
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.sessions.store import read_session
from sylk_ray.skills import (
    CONTROL,
    Registry,
    Skill,
    SkillFailed,
    SkillLoader,
    SkillProblem,
    load_installed,
    load_repository,
    run,
)
from sylk_ray.speech.errors import NeedsModel, OnlySaid
from sylk_ray.speech.messages import CallSkill, Hear, Heard

StateT = TypeVar("StateT", bound="msgspec.Struct | None")
AgentT = TypeVar("AgentT")

log = logging.getLogger("sylk.skills")


class SkillCall(Generic[AgentT]):
    """What a skill is called with: the agent whose skill it is, and what that can do in a session."""

    def __init__(self, agent: AgentT, ctx: Context, said_by: str, loader: Callable[[], SkillLoader]) -> None:
        self.agent = agent
        self.ctx = ctx
        self.said_by = said_by
        """Who asks: an agent's role, or empty for a person."""
        self._loader = loader

    @property
    def address(self) -> Address:
        """Of the agent."""
        return self.ctx.address

    @property
    def skills(self) -> SkillLoader:
        """Which of the agent's skills its model is told of; for the skills that govern skills."""
        return self._loader()


class Conversant(Agent[StateT]):
    """The base of agents that hear what is said to them.

    ``skills`` are what they can do, whoever asks: a person by a slash command, or an agent's model. Words are answered
    with a skill that only looks and of which a keyword is among them; else with ``answers_with``. What would change
    something is never done because of a keyword.
    """

    skills: ClassVar[tuple[Skill, ...]] = ()
    answers_with: ClassVar[str] = ""
    """The skill that says how things stand; empty if none does."""
    about: ClassVar[str] = ""
    """What the agent is for, in a line."""
    one_a_task: ClassVar[bool] = False
    """Whether a session has several, each named after its task, and none that speaks for all."""
    _registry: Registry | None = None
    _loader: SkillLoader | None = None

    @classmethod
    def skills_of_role(cls) -> tuple[Registry, list[SkillProblem]]:
        """Its own, those that govern skills, and those that installed packages bring; and what was wrong with these."""
        registry = Registry((*cls.skills, *CONTROL))
        return registry, load_installed(registry)

    async def registry(self, ctx: Context) -> Registry:
        """The skills of this agent: those of its role, and those of the session's repository where that is allowed."""
        if self._registry is None:
            registry, problems = self.skills_of_role()
            if ctx.settings.repository_skills and ctx.address.session != SHARED:
                problems += await asyncio.to_thread(_of_repository, ctx.settings.home, ctx.address.session, registry)
            _log(problems)
            self._registry = registry
        return self._registry

    @handler(concurrent=True)
    async def hear(self, message: Hear, ctx: Context) -> Heard:
        """Answer what was said in words, as well as that goes without a model."""
        registry = await self.registry(ctx)
        mentioned = registry.mentioned(message.text)
        if mentioned and not mentioned[0].only_looks and mentioned[0].name in {each.name for each in self.skills}:
            raise OnlySaid(
                f"nothing was done: {mentioned[0].name} is never used because of words",
                hint=_command_for(mentioned[0].name) or "`/help` lists what can be done by a command",
            )
        chosen = _fitting(mentioned) or self.answers_with
        if not chosen:
            raise NeedsModel(
                f"the {self.role} answers words only with a model, and none is configured",
                hint=f"without one it can do: {', '.join(sorted(each.name for each in self.skills)) or 'nothing'}",
            )
        return await self._use(chosen, "{}", message.said_by, ctx)

    @handler(concurrent=True)
    async def call_skill(self, message: CallSkill, ctx: Context) -> Heard:
        """Use a skill."""
        return await self._use(message.skill, message.arguments, message.said_by, ctx)

    async def _use(self, name: str, arguments: str, said_by: str, ctx: Context) -> Heard:
        registry = await self.registry(ctx)
        skill = registry.get(name)
        hooks = runtime_hooks(ctx.settings.hooks)
        session, agent = ctx.address.session, ctx.address
        given = _object(arguments)
        wanted = (await hooks.run(ToolBefore(session=session, agent=agent, tool=name, arguments=given))).arguments
        after = ToolAfter(session=session, agent=agent, tool=name, arguments=wanted)
        call = SkillCall(self, ctx, said_by, lambda: self._loads(registry))
        try:
            # Nobody waits for it any longer than until then.
            async with asyncio.timeout(max(0.0, ctx.deadline - ctx.clock.now()) if ctx.deadline else None):
                result = await run(skill, wanted if wanted is not given else arguments, call)
        except TimeoutError:
            late = SkillFailed(
                f"{name} did not end in time, and was stopped", hint="give it longer: `sylk say --timeout`"
            )
            await hooks.run(msgspec.structs.replace(after, error=str(late)))
            raise late from None
        except SylkError as error:
            await hooks.run(msgspec.structs.replace(after, error=str(error)))
            raise
        await hooks.run(msgspec.structs.replace(after, result=result))
        if isinstance(result, Heard):
            return msgspec.structs.replace(result, done_by=name)
        data = msgspec.json.decode(msgspec.json.encode(result))
        return Heard(_told(data), data, name)

    def _loads(self, registry: Registry) -> SkillLoader:
        """Made when it is asked for: counting tokens takes some memory."""
        if self._loader is None:
            self._loader = SkillLoader(registry)
        return self._loader


def _of_repository(home: Path, session: str, registry: Registry) -> list[SkillProblem]:
    return load_repository(registry, Path(read_session(home, session).repo), allowed=True)


def _log(problems: Iterable[SkillProblem]) -> None:
    for problem in problems:
        log.warning("a skill was left out: %s", problem)


def _fitting(mentioned: Collection[Skill]) -> str:
    """The first that may answer words: it only looks, and needs to be told nothing."""
    for skill in mentioned:
        if skill.only_looks and not any(each.required for each in skill.parameters):
            return skill.name
    return ""


def _object(arguments: str) -> dict[str, Any]:
    """Empty for what is no JSON object: the skill's own check says what is wrong with it."""
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _command_for(skill: str) -> str:
    command = next((each for each in commands() if each.skill == skill), None)
    return f"`{command.usage}` does it" if command is not None else ""


def _told(data: Any) -> str:
    return data if isinstance(data, str) else msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
