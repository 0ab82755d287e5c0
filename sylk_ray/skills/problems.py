"""A skill that could not be taken in, which does not keep the others out."""

from __future__ import annotations

import msgspec


class SkillProblem(msgspec.Struct, frozen=True):
    """``source`` is a file, or an entry point."""

    source: str
    message: str
    line: int = 0
    """From 1 on; 0 when the problem is not in a line."""
    hint: str = ""

    def told(self) -> str:
        """``source:line: message (hint)``, without the parts that are empty."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        return f"{place}: {self.message}" + (f" ({self.hint})" if self.hint else "")
