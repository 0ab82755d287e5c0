"""How a call is let in, and what it has used is told: the place where FairShare is plugged in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias


class Meter(Protocol):
    """Is told what a call has used *so far*, as often as is convenient; what is less than before changes nothing."""

    def charge(self, *, input: float = 0, output: float = 0) -> None:
        """Tokens, in all."""
        ...


Admit: TypeAlias = Callable[[str, int], AbstractAsyncContextManager[Meter]]
"""Takes the name under which a model's limits are kept, and about how many tokens the input has; its context waits
until the call may be made, and is held while it is. Within an agent::

    def admit(limits: str, tokens: int) -> AbstractAsyncContextManager[Meter]:
        return ctx.leases.model_call(key, ctx.address.session, limits, estimate=tokens)
"""


class _Unmetered:
    def charge(self, *, input: float = 0, output: float = 0) -> None:
        pass


@asynccontextmanager
async def admit_all(limits: str, tokens: int) -> AsyncGenerator[Meter]:
    """No limits: for a person who asks one question."""
    yield _Unmetered()
