"""Where the state directory is. Apart from the settings, which take a tenth of a second to import."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sylk_ray.errors import InputError

SETTINGS = "settings.yaml"
"""The file of settings in a state directory: a person may have put it there before anything else is."""
_IGNORING = ".gitignore"


class NoSuchUser(InputError):
    """A path begins with the home of a user that there is none of."""

    code = "no_such_user"


def default_home() -> Path:
    """``SYLK_HOME``, or the platform's state directory for ``sylk``. Raises NoSuchUser."""
    given = os.environ.get("SYLK_HOME")
    return expanded(Path(given)).absolute() if given else platformdirs.user_state_path("sylk")


def make_home(home: Path) -> None:
    """Make a state directory, for its user alone, if there is none. It has secrets and copies of work trees, so one
    that lies within a repository is no part of it, neither for git nor for an index. A directory in which there is more
    than settings is left as it is. Raises OSError."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if all(each.name in (SETTINGS, _IGNORING) for each in home.iterdir()):
        keep_to_itself(home)


def keep_to_itself(home: Path) -> None:
    """Have a state directory left out of the repository that it may lie in, unless its user has said of what. Raises
    OSError."""
    ignoring = home / _IGNORING
    # An empty one is left when the disk is full, or a process is killed.
    if not ignoring.exists() or not ignoring.stat().st_size:
        ignoring.write_text("# Made by sylk: its state, with secrets, and no source.\n*\n")


def expanded(path: Path) -> Path:
    """A path without the ``~`` or ``~user`` that it may begin with. Raises NoSuchUser."""
    try:
        return path.expanduser()
    except RuntimeError as problem:
        user = path.parts[0].removeprefix("~")
        raise NoSuchUser(
            f"there is no user {user}" if user else "this user has no home",
            hint=f"Write the whole path instead of {path.parts[0]}.",
        ) from problem


def session_directory(home: Path, session: str) -> Path:
    """The directory of a session in a state directory."""
    return home / "sessions" / session
