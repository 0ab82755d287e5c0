"""What a machine must have, whether a runtime runs or not."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from sylk_ray.cli.examination import Check, Finding
from sylk_ray.cli.humanise import size
from sylk_ray.errors import SylkError
from sylk_ray.home import SETTINGS, keep_to_itself

LOW_DISK = 1 << 30
NO_DISK = 100 << 20


def python(home: Path) -> Iterator[Finding]:
    """Python 3.11 or later."""
    version = platform.python_version()
    good = sys.version_info >= (3, 11)
    yield Finding("python", "ok" if good else "fail", version, "" if good else "install Python 3.11 or later")


def git(home: Path) -> Iterator[Finding]:
    """git 2.38 or later, for merging without a checkout."""
    hint = "install git 2.38 or later"
    program = shutil.which("git")
    if program is None:
        yield Finding("git", "fail", "not found", hint)
        return
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    found = re.search(r"(\d+)\.(\d+)", told)
    good = found is not None and (int(found[1]), int(found[2])) >= (2, 38)
    yield Finding("git", "ok" if good else "fail", told.strip() or "does not run", "" if good else hint)


def ray(home: Path) -> Iterator[Finding]:
    """Ray is installed, and has its dashboard."""
    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        yield Finding("ray", "fail", "not installed", 'pip install "ray[default]"')
        return
    yield Finding("ray", "ok", version)


def confinement(home: Path) -> Iterator[Finding]:
    """Tools can be kept in their worktree, from the person's files and off the network."""
    from sylk_ray.tools import confinement as probe
    from sylk_ray.tools.confinement import UNCONFINED

    found = probe()
    files = "only their worktree and the system" if found.landlock_abi else "all your files"
    network = "isolated" if found.network else "not isolated"
    detail = f"Landlock ABI {found.landlock_abi or 'none'}: tools read {files}; network {network}"
    if found.landlock_abi and found.network:
        yield Finding("confinement", "ok", detail)
        return
    allowed = os.environ.get(UNCONFINED) == "1"
    hint = "Linux 5.13 with Landlock, and user namespaces, let tools run confined; otherwise they are refused"
    yield Finding("confinement", "warn" if allowed else "fail", "; ".join([detail, *found.problems]), hint)


def home_directory(home: Path) -> Iterator[Finding]:
    """The state directory belongs to this user alone, and has room."""
    name = "state directory"
    nearest = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    if free < LOW_DISK:
        state = "fail" if free < NO_DISK else "warn"
        yield Finding("disk", state, f"{size(free)} free at {nearest}", "make room, or use another --home")
    else:
        yield Finding("disk", "ok", f"{size(free)} free at {nearest}")
    if not home.exists():
        yield Finding(name, "ok", f"{home} does not exist yet")
        return
    found = home.stat()
    if found.st_uid != os.getuid():
        yield Finding(name, "fail", f"{home} belongs to user {found.st_uid}", "use another --home")
        return
    open_paths = [path for path in (home, home / "token", home / "ray-token") if path.exists() and _is_open(path)]
    if open_paths:

        def close() -> str:
            for path in open_paths:
                path.chmod(0o700 if path.is_dir() else 0o600)
            return "made private"

        told = ", ".join(str(path) for path in open_paths)
        yield Finding(name, "fail", f"others may read {told}", "chmod go= them, or --fix", close)
    elif _would_be_committed(home):

        def keep() -> str:
            keep_to_itself(home)
            if _would_be_committed(home):
                raise SylkError("git has them already, or its .gitignore, which is yours, does not name them")
            return "left out by its .gitignore"

        told = f"{home} lies in a repository that would take in its tokens"
        yield Finding(name, "warn", told, "write `*` into a .gitignore in it, or --fix", keep)
    else:
        yield Finding(name, "ok", f"{home}, private")


def _would_be_committed(home: Path) -> bool:
    """Whether it lies in a repository of git that does not ignore it."""
    asked = ["git", "-C", str(home), "check-ignore", "--quiet", "token"]
    try:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 1
    except OSError:
        return False


def settings(home: Path) -> Iterator[Finding]:
    """The settings file and the environment make sense."""
    from sylk_ray.config import load_settings

    file = home / SETTINGS
    where = str(file) if file.exists() else "defaults"
    try:
        load_settings(home=home)
    except (SylkError, ValueError, OSError) as error:
        yield Finding("settings", "fail", f"{where}: {error}", f"correct {file} or the SYLK_ variables")
    else:
        yield Finding("settings", "ok", where)


def _is_open(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


CHECKS: tuple[Check, ...] = (python, git, ray, confinement, home_directory, settings)
