"""One hierarchy of errors: each says what happened, to whom, and what to do next.

Every error has a stable ``code`` (what a program matches on, and what crosses process borders) and an
``exit_code`` (what the CLI ends with: 1 the work failed, 2 the input is wrong, 3 the runtime is not
reachable). An error that belongs to one package is declared there, as a subclass of one of these.
"""

from __future__ import annotations

from typing import ClassVar

_by_code: dict[str, type[SylkError]] = {}


class SylkError(Exception):
    """What every deliberate error of sylk_ray derives from.

    ``message`` says what happened and to what; ``hint`` says what the person can do, and may be empty.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            raise TypeError(f"{cls.__qualname__} needs a code of its own")
        known = _by_code.setdefault(cls.code, cls)
        if known.__qualname__ != cls.__qualname__:
            raise TypeError(f"the error code {cls.code!r} belongs to {known.__qualname__}")

    def __reduce__(self) -> tuple[object, ...]:
        return (error_of, (self.code, self.message, self.hint))


def error_of(code: str, message: str, hint: str = "") -> SylkError:
    """The error for a code that came over a wire; an unknown code gives a plain SylkError."""
    made = _by_code.get(code, SylkError)
    error = made.__new__(made)
    SylkError.__init__(error, message, hint=hint)
    return error


class InputError(SylkError):
    """What the person gave is wrong; nothing was changed."""

    code = "input"
    exit_code = 2


class RuntimeNotReachable(SylkError):
    """No runtime answers at the address that is written down."""

    code = "runtime_not_reachable"
    exit_code = 3
