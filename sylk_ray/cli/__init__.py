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
    import os
    import sys

    from sylk_ray.cli.app import run

    code = 1

    def end() -> None:
        # Taking apart all that was made takes a tenth of a second after a search, and a quarter after an indexing.
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream:  # None where it was closed from the start.
                    stream.flush()
        except (OSError, ValueError):
            return  # Python says what is the matter.
        os._exit(code)

    # What is registered first is called last: threads have ended by then, and whatever else is to be done at the end.
    atexit.register(end)
    code = run(sys.argv[1:])
    sys.exit(code)
