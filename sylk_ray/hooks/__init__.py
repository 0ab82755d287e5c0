"""Points in the life of a session at which a function of somebody else can look, change, or refuse.

Each point has a payload, a frozen struct, and a hook is a function of that payload: it returns None (as it was) or a
changed copy, or raises ``Abort``, whose reason the caller gets as ``Aborted``::

    @hook(ToolBefore, priority=10, on_failure="closed")
    async def orchestration_enforcer(payload: ToolBefore, ctx: HookContext) -> ToolBefore | None:
        if payload.agent.role == "orchestrator" and payload.tool == "write":
            raise Abort("the orchestrator delegates, it does not write")

    hooks = Hooks({"context-injector": False}, clock=SystemClock())
    hooks.add(orchestration_enforcer)
    payload = await hooks.run(ToolBefore(session="s-1", agent=agent, tool="write", arguments={}))  # raises Aborted

The hooks of a point run one after the other, by priority (the lowest first) and then in the order in which they were
added, each with what the one before it left. An async hook has a deadline; one that raises, hangs, or returns something
of another type is recorded, and then passed over (``on_failure="open"``) or refused with ``HookFailed`` (``"closed"``).
A plain function is a hook too, for those that never wait: it costs a call and no task, and cannot be cut off.

Sources: the spec's "Guide Hooks", and "Hook Lifecycle System" of domains-and-workflows.
"""

from sylk_ray.hooks.errors import Abort, Aborted, HookFailed, InvalidHook, UnknownHook
from sylk_ray.hooks.hooks import Hooks
from sylk_ray.hooks.installed import installed_hooks, runtime_hooks
from sylk_ray.hooks.model import FailureMode, Hook, HookContext, hook
from sylk_ray.hooks.payloads import (
    POINTS,
    AgentDelegate,
    ContextInject,
    Payload,
    PostDispatch,
    PostRoute,
    PreDispatch,
    PreRoute,
    PromptAfter,
    PromptBefore,
    SessionCompaction,
    SessionCreate,
    ToolAfter,
    ToolBefore,
)
from sylk_ray.hooks.record import HookStatistics

__all__ = [
    "POINTS",
    "Abort",
    "Aborted",
    "AgentDelegate",
    "ContextInject",
    "FailureMode",
    "Hook",
    "HookContext",
    "HookFailed",
    "HookStatistics",
    "Hooks",
    "InvalidHook",
    "Payload",
    "PostDispatch",
    "PostRoute",
    "PreDispatch",
    "PreRoute",
    "PromptAfter",
    "PromptBefore",
    "SessionCompaction",
    "SessionCreate",
    "ToolAfter",
    "ToolBefore",
    "UnknownHook",
    "hook",
    "installed_hooks",
    "runtime_hooks",
]
