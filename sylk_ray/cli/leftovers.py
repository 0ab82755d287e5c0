"""Ray's processes and files of a state directory, found without any record of them."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import psutil

from sylk_ray.runtime.cluster.head import ray_token, stop_head, temp_dir


def ray_processes(home: Path) -> list[psutil.Process]:
    """Every process of this state directory's Ray: by its temporary folder in the command line, by the token in the
    environment, or by descent from such a one. Never this process or the ones that it runs in."""
    marks = str(temp_dir(home)), str(ray_token(home))
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid not in own and _carries(process, *marks):
                found.update({each.pid: each for each in (process, *process.children(recursive=True))})
    return [process for pid, process in found.items() if pid not in own]


def _carries(process: psutil.Process, folder: str, token: str) -> bool:
    command = process.cmdline()
    if any(folder == part or folder + "/" in part or part.endswith("=" + folder) for part in command):
        return True
    if not command or "ray" not in command[0]:
        return False
    return process.environ().get("RAY_AUTH_TOKEN_PATH") == token


def end_ray(home: Path) -> int:
    """End every one of them and remove their files; returns how many processes there were."""
    processes = ray_processes(home)
    for process in processes:
        stop_head(process.pid)
    remove_ray_files(home)
    return len(processes)


def remove_ray_files(home: Path) -> bool:
    """Remove Ray's temporary folder; whether there was one."""
    folder = temp_dir(home)
    if not folder.is_dir() or folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True
