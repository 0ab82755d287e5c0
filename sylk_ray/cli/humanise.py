"""Times and sizes as people say them."""

from __future__ import annotations

import time


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for unit, size, lesser, part in (("min", 60, "s", 1), ("h", 3600, "min", 60), ("d", 86400, "h", 3600)):
        if whole < size * {"min": 60, "h": 24, "d": 10**9}[unit]:
            count, rest = divmod(whole, size)
            return f"{count} {unit} {rest // part} {lesser}" if rest // part else f"{count} {unit}"
    raise AssertionError("unreachable")


def age(at: float, now: float | None = None) -> str:
    """How long ago a Unix time was; a dash for none."""
    if not at:
        return "-"
    seconds = max(0.0, (time.time() if now is None else now) - at)
    return "just now" if seconds < 1 else f"{duration(float(int(seconds))).replace('.0 s', ' s')} ago"


def size(count: int) -> str:
    """``3.2 GB``"""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
