"""Where a message goes: ``session/role/name``."""

from __future__ import annotations

import re
from typing import NamedTuple

from sylk_ray.errors import InputError

SHARED = "shared"
"""The session of the agents that serve every session."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


class Address(NamedTuple):
    """The name of one agent, for example ``s-7f3a/engineer/create_dashboard``.

    A tuple, so that hashing and comparing cost what they cost for tuples: every message does both.
    """

    session: str
    role: str
    name: str

    def __str__(self) -> str:
        return f"{self.session}/{self.role}/{self.name}"

    def beside(self, role: str, name: str | None = None) -> Address:
        """The agent of another role in the same session, by default with the same name."""
        return Address(self.session, role, self.name if name is None else name)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``session/role/name``; raises InputError when a part is missing or has a strange character."""
        parts = text.split("/")
        if len(parts) != 3 or not all(_PART.match(part) for part in parts):
            raise InputError(
                f"{text!r} is not an address",
                hint="an address is session/role/name, for example s-7f3a/engineer/create_dashboard",
            )
        return cls(*parts)
