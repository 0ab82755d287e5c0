"""The ``sylk`` command: one module a noun, all of them clients of the gateway. Nothing here imports Ray.

``app`` puts the commands together that ``commands`` lists; ``lifecycle`` starts and ends a local runtime; ``shell`` is
what every command prints through. Commands import what is slow where they use it: ``sylk status`` answers in a fifth of
a second.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    import sys

    from sylk_ray.cli.app import run

    sys.exit(run(sys.argv[1:]))
