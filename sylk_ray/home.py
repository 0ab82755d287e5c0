"""Where the state directory is. Apart from the settings, which take a tenth of a second to import."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_home() -> Path:
    """``SYLK_HOME``, or the platform's state directory for ``sylk``."""
    given = os.environ.get("SYLK_HOME")
    return Path(given).expanduser().absolute() if given else platformdirs.user_state_path("sylk")


def session_directory(home: Path, session: str) -> Path:
    """The directory of a session in a state directory."""
    return home / "sessions" / session
