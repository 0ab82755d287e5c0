"""``sylk version``."""

from __future__ import annotations

from sylk_ray import __version__
from sylk_ray.cli.shell import Home, Json, Shell


def version(home: Home = None, json: Json = False) -> None:
    """Print the version of sylk, and of what it stands on."""
    import importlib.metadata
    import platform

    shell = Shell(home, json)
    told = {"sylk": __version__, "python": platform.python_version(), "ray": importlib.metadata.version("ray")}
    shell.document(told)
    if not json:
        shell.say("  ".join(f"{name} {number}" for name, number in told.items()))
