"""Whether a process sees the runtime's own state directory, or another one under the same name."""

from __future__ import annotations

from sylk_ray.config import Settings
from sylk_ray.home import make_home

MARKER = "incarnation"


def mark_state(settings: Settings) -> None:
    """Write into the state directory which start of the runtime this is."""
    make_home(settings.home)
    (settings.home / MARKER).write_text(settings.incarnation)


def shares_state(settings: Settings) -> bool:
    """Whether this process finds the mark of the runtime that it was made for."""
    if not settings.incarnation:
        return True
    try:
        return (settings.home / MARKER).read_text() == settings.incarnation
    except OSError:
        return False
