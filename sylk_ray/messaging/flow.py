"""Who may say what to whom: each message declares it, and the host of whoever wants to say it holds them to it."""

from __future__ import annotations

ANY = "any"
"""Every role."""
USER = "user"
"""Whoever speaks through the gateway, and whoever listens there."""
HOST = "host"
"""A cell's host itself, for the chores that belong to no agent."""
OPERATOR = "operator"
"""Whoever holds the cluster in their hands, and asks by a cell's Ray actor. They may say anything."""

_GATEWAY = "gateway"


class Flow:
    """Which roles say a message, and to which. The names are as they were declared, ``user`` for the gateway's."""

    __slots__ = ("_from", "_to", "receivers", "senders")

    def __init__(self, senders: frozenset[str], receivers: frozenset[str]) -> None:
        self.senders = senders
        self.receivers = receivers
        self._from = None if ANY in senders else _roles(senders) | {OPERATOR}
        self._to = None if ANY in receivers else _roles(receivers)

    def allows(self, sender: str, receiver: str) -> bool:
        """Whether an agent of the one role may say it to one of the other."""
        return (self._from is None or sender in self._from) and (self._to is None or receiver in self._to)

    def __str__(self) -> str:
        return f"{listed(self.senders)} to {listed(self.receivers)}"


def said_by(*senders: str, to: str | tuple[str, ...]) -> Flow:
    """The flow of a message that these roles say to those."""
    return Flow(frozenset(senders), frozenset((to,) if isinstance(to, str) else to))


def listed(roles: frozenset[str]) -> str:
    """Roles in one line, always in the same order."""
    return ", ".join(sorted(roles))


def _roles(names: frozenset[str]) -> frozenset[str]:
    return frozenset(_GATEWAY if name == USER else name for name in names)
