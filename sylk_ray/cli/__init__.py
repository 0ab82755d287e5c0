"""The ``sylk`` command: one module a noun, all of them clients of the gateway. Nothing here imports Ray.

``app`` puts the commands together that ``commands`` lists; ``lifecycle`` starts and ends a local runtime; ``shell`` is
what every command prints through. Commands import what is slow where they use it: ``sylk status`` answers in a fifth of
a second.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    import atexit
    import contextlib
    import os
    import sys

    from sylk_ray.cli.app import run

    code: int | None = None

    def end() -> None:
        # Taking apart all that was made takes a tenth of a second after a search, and a quarter after an indexing.
        if code is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, KeyboardInterrupt):
                if stream:  # None where it was closed from the start.
                    stream.flush()
        os._exit(code)

    # What is registered first is called last: after the threads that are waited for, and after what else is to be done
    # at the end, but for what was registered before, as by coverage (whose option for this is ``patch = _exit``).
    atexit.register(end)
    code = run(sys.argv[1:])
    sys.exit(code)
