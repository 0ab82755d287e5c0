"""How long to wait before a model is asked again, and when it is not worth it."""

from __future__ import annotations

from dataclasses import dataclass

from sylk_ray.llm.errors import ModelError


@dataclass(frozen=True)
class Retrying:
    """Pauses are drawn evenly from none to a bound that doubles (full jitter; Brooker, AWS Architecture Blog 2015), or
    are what the provider asks for."""

    attempts: int = 5
    """Of one model, for one call."""
    first_s: float = 0.5
    longest_s: float = 20.0
    longest_asked_s: float = 60.0
    """A provider that asks for a longer pause than this is not waited for."""

    def pause(self, error: ModelError, attempt: int, chance: float) -> float | None:
        """Seconds until the next attempt, after ``attempt`` of them; None when there is none. ``chance`` is in [0, 1).

        A pause that was asked for is lengthened by up to a tenth, as many are told the same.
        """
        if not error.again or attempt >= self.attempts:
            return None
        if error.after_s is None:
            return chance * min(self.longest_s, self.first_s * 2 ** (attempt - 1))
        return error.after_s * (1 + chance / 10) if error.after_s <= self.longest_asked_s else None
