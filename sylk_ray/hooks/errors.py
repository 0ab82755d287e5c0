"""How a hook says no, and what its caller sees."""

from __future__ import annotations

from sylk_ray.errors import InputError, SylkError


class Abort(Exception):
    """Raised by a hook: what its point stands before shall not happen, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Aborted(SylkError):
    """A hook said no; the message is its reason, and the hint says which hook it was."""

    code = "aborted_by_hook"


class HookFailed(SylkError):
    """A hook that fails closed raised, hung, or returned something else than its payload."""

    code = "hook_failed"


class InvalidHook(InputError):
    """A hook cannot be added; the message names it and what is wrong."""

    code = "invalid_hook"


class UnknownHook(InputError):
    """The settings switch a hook that there is not; the hint has the nearest."""

    code = "unknown_hook"
