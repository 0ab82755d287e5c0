"""From the name that somebody says to the address of whom they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sylk_ray.dag import did_you_mean
from sylk_ray.errors import InputError, SylkError
from sylk_ray.messaging import Address
from sylk_ray.routing import TARGETS
from sylk_ray.speech.errors import AgentNotHere, NobodyOfThatName

MAIN = "main"
GUIDE = "guide"


class Voice(NamedTuple):
    """A role that can be spoken to. One that is ``named`` has several agents, and each must be named."""

    role: str
    about: str = ""
    named: bool = False


class Receiver(NamedTuple):
    """Whom something is for; ``label`` is what people call it."""

    label: str
    address: Address


class Receivers:
    """Of one session. ``guide`` is who stands for the Guide there; ``registered`` are agents beyond those that every
    session has, by name."""

    def __init__(self, session: str, guide: Address, voices: Mapping[str, Voice]) -> None:
        self._session = session
        self._guide = guide
        self._voices = dict(voices)
        self.registered: dict[str, Address] = {}

    def names(self) -> list[str]:
        """All that can be spoken to by one name."""
        return sorted({GUIDE, *(role for role, voice in self._voices.items() if not voice.named), *self.registered})

    def about(self) -> dict[str, str]:
        """What each is for."""
        told = {GUIDE: TARGETS[GUIDE], **{role: voice.about for role, voice in self._voices.items()}}
        return {**told, **{name: str(address) for name, address in self.registered.items()}}

    def find(self, name: str) -> Receiver:
        """Raises NobodyOfThatName, or AgentNotHere for one that there might be elsewhere."""
        if name in self.registered:
            return Receiver(name, self.registered[name])
        role, _, rest = name.partition("/")
        if role == self._session:
            role, _, rest = rest.partition("/")
        elif rest.count("/"):
            raise NobodyOfThatName(
                f"{name} is of another session than {self._session or 'none'}",
                hint="say it to that session: `sylk say --session`",
            )
        if role in (GUIDE, "router"):
            return Receiver(GUIDE, self._guide)
        voice = self._voices.get(role)
        if voice is None:
            raise self._unknown(role)
        if voice.named and not rest:
            raise NobodyOfThatName(f"there are several {role}s", hint=f"name one: @to:{role}/<task>")
        return Receiver(f"{role}/{rest}" if rest else role, self._address(role, rest or MAIN))

    def has(self, name: str) -> bool:
        """Whether ``find`` finds it."""
        try:
            self.find(name)
        except (InputError, AgentNotHere):
            return False
        return True

    def _address(self, role: str, name: str) -> Address:
        return Address(self._session, role, name)

    def _unknown(self, role: str) -> SylkError:
        if role in TARGETS:
            return AgentNotHere(
                f"there is no {role} here: {TARGETS[role]}", hint=f"here are: {', '.join(self.names())}"
            )
        hint = did_you_mean(role, [*self.names(), *self._voices]) or f"here are: {', '.join(self.names())}"
        return NobodyOfThatName(f'there is nobody called "{role}" here', hint=hint)
