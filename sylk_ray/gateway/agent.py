"""The gateway among the agents: what sessions' routers tell it goes to the open streams."""

from __future__ import annotations

from sylk_ray.gateway.watching import Hub
from sylk_ray.messaging import SHARED, Address
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.history import Events, Unsubscribe

GATEWAY = Address(SHARED, "gateway", "main")

hub = Hub()
"""One a process, not one an agent: an agent is put away while it is idle, the streams stay open."""


class GatewayAgent(Agent[None]):
    """Spreads events and keeps nothing; it never waits, so a slow client holds no router up."""

    role = "gateway"

    @handler()
    async def events(self, message: Events, ctx: Context) -> None:
        """What happened where someone watches, or did before this process began."""
        if not hub.spread(message):
            ctx.notify(ctx.sender, Unsubscribe(message.subscription))
