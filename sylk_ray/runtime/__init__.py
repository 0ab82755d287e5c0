"""The actor runtime: agents, their mailboxes, and how messages find them.

An agent is a class with typed handlers; a ``Host`` holds many of them on one event loop and runs each one's
handlers one message at a time. Hosts speak to each other in acknowledged batches. Nothing in this package imports
Ray except ``sylk_ray.runtime.cluster``, which puts a host into a Ray actor (a cell) and decides where cells go.

    class Greeter(Agent[None]):
        role = "greeter"

        @handler()
        async def greet(self, message: Greet, ctx: Context) -> Greeting: ...
"""

from sylk_ray.runtime.agent import Agent, handler
from sylk_ray.runtime.clock import Clock, ManualClock, SystemClock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.host import Host
from sylk_ray.runtime.journal import Journal, Journals, MemoryJournals, SavedState, Transaction
from sylk_ray.runtime.reminders import Reminders
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.steps import Retry
from sylk_ray.runtime.supervision import Refused
from sylk_ray.runtime.transport import LocalTransport, Transport

__all__ = [
    "Agent",
    "Clock",
    "Context",
    "Host",
    "Journal",
    "Journals",
    "LocalTransport",
    "ManualClock",
    "MemoryJournals",
    "Refused",
    "Reminders",
    "Retry",
    "Roles",
    "SavedState",
    "SessionBinding",
    "SystemClock",
    "Transaction",
    "Transport",
    "handler",
]
