"""Where the state directory is. Apart from the settings, which take a tenth of a second to import."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sylk_ray.errors import InputError


class NoSuchUser(InputError):
    """A path begins with the home of a user that there is none of."""

    code = "no_such_user"


def default_home() -> Path:
    """``SYLK_HOME``, or the platform's state directory for ``sylk``. Raises NoSuchUser."""
    given = os.environ.get("SYLK_HOME")
    return expanded(Path(given)).absolute() if given else platformdirs.user_state_path("sylk")


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
