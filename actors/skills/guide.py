"""What the Guide can do when it is asked to: in a session its router does it, and for the runtime the Guide itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from sylk_ray.dag import did_you_mean
from sylk_ray.errors import InputError
from sylk_ray.messaging import SHARED
from sylk_ray.routing import Broadcast, Command, Directed, TaskAction, TaskCommand, commands, show
from sylk_ray.runtime import Context
from sylk_ray.sessions.messages import (
    GUIDE,
    CreateSession,
    EndSession,
    GetSession,
    ListJobs,
    ListSessions,
    SwitchSession,
)
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, NoSuchJob, Receivers, Said, Say, SkillCall
from sylk_ray.speech.metrics import GetGlobalRouteMetrics, SessionRouteMetrics

if TYPE_CHECKING:

    class Router(Protocol):
        """Who routes."""

        @property
        def receivers(self) -> Receivers: ...
        async def say_on(self, message: Say, ctx: Context) -> Said: ...
        def route_metrics(self) -> SessionRouteMetrics: ...

    Call = SkillCall[Router]
else:
    Call = SkillCall


class NotInASession(InputError):
    """Something that only a session can do was asked of the runtime."""

    code = "not_in_a_session"


# -- routing -------------------------------------------------------------------------------------------------------


@skill(domain="routing", keywords=["@to"], tier="core")
async def route(ctx: Call, text: str) -> Said:
    """Bring what was said to whom it is for, whatever form it has, and tell what they answer.

    Args:
        text: What was said; @to:<agent> names an agent, /task a task.
    """
    return await _said(ctx, text)


@skill(domain="routing", keywords=["@guide", "direct"], tier="core")
async def guide_route(ctx: Call, agent: str, prompt: str) -> Said:
    """Bring a prompt to one agent.

    Args:
        agent: Its name, for example tester.
        prompt: What to say to it.
    """
    return await _said(ctx, show(Directed("guide", agent, prompt)))


@skill(domain="routing", keywords=["/task", "pipeline", "engineer"], tier="core")
async def task_interact(ctx: Call, task_name: str, action: TaskAction, message: str = "") -> Said:
    """Say something to the pipeline of one task, or end it, or let it pass without a check.

    Args:
        task_name: The task's name, or the beginning of it.
        action: What to do.
        message: What to say, for a prompt and a query; else the reason.
    """
    return await _said(ctx, show(TaskCommand(task_name, action, message)))


@skill(domain="routing", keywords=["send", "forward"], tier="core")
async def route_to(ctx: Call, target: str, message: str) -> Said:
    """Say something to another agent, and tell what it answers.

    Args:
        target: The agent's name.
        message: What to say.
    """
    return await _said(ctx, show(Directed("to", target, message)))


@skill(domain="routing", keywords=["notify", "all"], tier="core")
async def broadcast(ctx: Call, targets: list[str], message: str) -> Said:
    """Say something to several agents.

    Args:
        targets: Their names.
        message: What to say.
    """
    return await _said(ctx, show(Broadcast(tuple(targets), message)))


async def _said(ctx: Call, text: str) -> Said:
    return await ctx.agent.say_on(Say(text, ctx.said_by), ctx.ctx)


# -- what there is --------------------------------------------------------------------------------------------------


@skill(domain="help", keywords=["help", "what can"], tier="core", only_looks=True)
async def help(ctx: Call, about: str = "") -> Heard:
    """Tell what can be said and done here.

    Args:
        about: A command, or an agent.
    """
    here = [each for each in commands() if each.skill and _who_does(each, ctx.agent.receivers)]
    if about:
        return _help_about(about.lstrip("/@"), here, ctx)
    agents = ctx.agent.receivers.about()
    lines = ["Say something in words, or:"]
    lines += [f'  @to:{name} "..."  {what}' for name, what in agents.items()]
    lines.append(f'  /task <name> {"|".join(TaskAction)} ["..."]  for one task of the job')
    lines += [f"  {each.usage}  {each.help}" for each in here]
    return Heard("\n".join(lines), {"agents": agents, "commands": [each.name for each in here]})


def _help_about(about: str, here: list[Command], ctx: Call) -> Heard:
    for each in here:
        if each.name == about:
            parameters = [*each.arguments, *each.options]
            lines = [f"{each.usage}  {each.help}", *(f"  {one.name}: {one.help}" for one in parameters)]
            return Heard("\n".join(lines), msgspec.to_builtins(each))
    agents = ctx.agent.receivers.about()
    if about in agents:
        theirs = [each for each in here if _who_does(each, ctx.agent.receivers) == about]
        lines = [f"{about}: {agents[about]}", *(f"  {each.usage}  {each.help}" for each in theirs)]
        return Heard("\n".join(lines), {"agent": about, "commands": [each.name for each in theirs]})
    known = [*agents, *(each.name for each in here)]
    raise InputError(f'there is no "{about}" here', hint=did_you_mean(about, known) or f"there are {', '.join(known)}")


def _who_does(command: Command, receivers: Receivers) -> str:
    for agent in (command.agent, command.stand_in):
        if agent and receivers.has(agent):
            return agent
    return ""


@skill(domain="help", keywords=["agents", "who is"], tier="core", only_looks=True)
async def agents(ctx: Call) -> Heard:
    """List whom one can speak to here."""
    known = ctx.agent.receivers.about()
    return Heard("\n".join(f"{name}: {what}" for name, what in known.items()), known)


@skill(domain="help", keywords=["status"], tier="core", only_looks=True)
async def status(ctx: Call) -> Heard:
    """Tell how the session, or the runtime, is."""
    if ctx.address.session != SHARED:
        session = await ctx.ctx.ask(GUIDE, GetSession(ctx.address.session))
        told = f"session {session.name} is {session.state}, on {session.branch}"
        return Heard(f"{told}; its job is {session.job}" if session.job else told, msgspec.to_builtins(session))
    jobs = await ctx.ctx.ask(GUIDE, ListJobs())
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job.status.value] = counts.get(job.status.value, 0) + 1
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    return Heard(f"{len(jobs)} job(s){f': {told}' if told else ''}", {"jobs": counts})


@skill(domain="routing", keywords=["metrics", "statistics"], tier="specialised", only_looks=True)
async def metrics(ctx: Call) -> Heard:
    """Tell how routing has gone: how much was said, to whom, what waits, and how long it took."""
    if ctx.address.session == SHARED:
        everywhere = await ctx.ctx.ask(GUIDE, GetGlobalRouteMetrics())
        counts, data = everywhere.counts, msgspec.to_builtins(everywhere)
    else:
        own = ctx.agent.route_metrics()
        counts, data = own.counts, msgspec.to_builtins(own)
    told = f"{counts.said} said, {counts.answered} answered, {counts.refused} refused, {counts.failed} failed"
    by = ", ".join(f"{target} {count}" for target, count in counts.by_target.items())
    return Heard(f"{told}{f'; to {by}' if by else ''}", data)


# -- sessions ------------------------------------------------------------------------------------------------------


@skill(domain="sessions", keywords=["sessions"], tier="specialised", only_looks=True)
async def sessions(ctx: Call) -> Heard:
    """List the sessions that are not closed."""
    known = await ctx.ctx.ask(GUIDE, ListSessions())
    lines = [f"{each.name} ({each.id}): {each.state}, {each.branch}" for each in known]
    return Heard("\n".join(lines) or "there is no session", msgspec.to_builtins(known))


@skill(domain="sessions", keywords=["switch session"], tier="specialised")
async def switch_session(ctx: Call, session: str, user: str) -> Heard:
    """Make a session a person's foreground session.

    Args:
        session: Its name or id.
        user: The person's user name.
    """
    record = await ctx.ctx.ask(GUIDE, SwitchSession(session, user))
    return Heard(f"{user} is in session {record.name} now", msgspec.to_builtins(record))


@skill(domain="sessions", keywords=["create session", "new session"], tier="specialised")
async def create_session(ctx: Call, name: str, repo: str = "", description: str = "") -> Heard:
    """Make a session that stays, and its branch.

    Args:
        name: Its branch is sylk/NAME.
        repo: The git repository's absolute path; that of this session when nothing is said.
        description: What it is for.
    """
    if not repo:
        if ctx.address.session == SHARED:
            raise NotInASession("a session needs a repository", hint="say which: its absolute path")
        repo = (await ctx.ctx.ask(GUIDE, GetSession(ctx.address.session))).repo
    group = ctx.ctx.settings.session_defaults
    record = await ctx.ctx.ask(GUIDE, CreateSession(name, repo, description, group), timeout=60)
    return Heard(f"session {record.name} ({record.id}) is on {record.branch}", msgspec.to_builtins(record))


@skill(domain="sessions", keywords=["close session"], tier="specialised")
async def close_session(ctx: Call, session: str) -> Heard:
    """Close a session: its job is cancelled, its worktrees removed; its branch stays.

    Args:
        session: Its name or id.
    """
    known = await ctx.ctx.ask(GUIDE, GetSession(session))
    if known.id == ctx.address.session:
        raise NoSuchJob("a session does not close itself", hint="`sylk session close`, or ask in another session")
    record = await ctx.ctx.ask(GUIDE, EndSession(known.id), timeout=180)
    return Heard(f"session {record.name} is closed", msgspec.to_builtins(record))


GUIDE_SKILLS = (
    route,
    guide_route,
    task_interact,
    help,
    status,
    agents,
    route_to,
    broadcast,
    sessions,
    metrics,
    switch_session,
    create_session,
    close_session,
)
