"""Keeps a Ray head: ``python -m sylk_ray.runtime.cluster.keeper TEMP_DIR -- ray start --head ...``.

``ray start --block`` ends the whole node when its control process (the GCS) dies. With its tables in RocksDB the GCS
can simply be started again: raylets and workers wait for it, for a minute. So this process starts Ray without
``--block``, is the parent of all that it leaves (a subreaper), starts a dead GCS again with its own command line, and
ends everything when it is asked to, or when the raylet is gone. Nothing here imports Ray.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_S = 0.1
_MOST_RESTARTS = 20
"""Of the GCS within ten minutes: one that dies more often has a reason that a restart does not mend."""
_WITHIN_S = 600.0
_LATELY_S = 60.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class _Asked(BaseException):
    """Someone asked this process to end."""


class _Gcs:
    """The control process, and how it was started."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process
        self._command = process.cmdline()
        self._environment = process.environ()
        self._cwd = process.cwd()
        self._restarts: list[float] = []
        self._ended_at: float | None = None

    def is_due(self) -> bool:
        """Whether it has ended, and is to be started: at once, and later each time if it ends again and again."""
        now = time.monotonic()
        if _lives(self.process):
            self._ended_at = None
            return False
        self._ended_at = now if self._ended_at is None else self._ended_at
        lately = sum(now - at < _LATELY_S for at in self._restarts)
        pause = min(_FIRST_PAUSE_S * 2**lately, _LONGEST_PAUSE_S) if lately else 0.0
        return now - self._ended_at >= pause

    def start_again(self, log: Path) -> bool:
        """Start it as it was; False when that has been of no use too often."""
        now = time.monotonic()
        self._restarts = [at for at in self._restarts if now - at < _WITHIN_S] + [now]
        if len(self._restarts) > _MOST_RESTARTS:
            return False
        with log.open("ab") as output:
            started = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.process = psutil.Process(started.pid)
        return True


def main() -> int:
    """Start Ray and stay with it; the exit code is Ray's when it does not start, 1 when it died, 0 when asked."""
    temp_dir, separator, *command = sys.argv[1:]
    assert separator == "--"
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _asked)
    try:
        started = subprocess.run(command, check=False, stdin=subprocess.DEVNULL)
        if started.returncode != 0:
            return started.returncode
        return _keep(Path(temp_dir))
    except _Asked:
        return 0
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        _end_children()


def _keep(temp_dir: Path) -> int:
    gcs = _Gcs(_child_named("gcs_server"))
    raylet = _child_named("raylet")
    log = temp_dir / "gcs-restarts.log"
    while True:
        _reap()
        if not _lives(raylet):
            print("the raylet has ended, and the node with it", flush=True)
            return 1
        if gcs.is_due():
            print("the GCS has ended, and is started again", flush=True)
            if not gcs.start_again(log):
                print(f"the GCS ended {_MOST_RESTARTS} times within {_WITHIN_S:g} s; see {log}", flush=True)
                return 1
        time.sleep(_LOOK_EVERY_S)


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _child_named(name: str) -> psutil.Process:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if Path((process.cmdline() or [""])[0]).name == name:
                return process
    raise SystemExit(f"Ray has started no {name}")


def _reap() -> None:
    """Let go of children that have ended: as a subreaper this process gets them all."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end_children(grace_s: float = 4.0) -> None:
    children = psutil.Process().children(recursive=True)
    for process in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(children, timeout=grace_s)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=2.0)


def _asked(number: int, frame: FrameType | None) -> None:
    raise _Asked


if __name__ == "__main__":
    sys.exit(main())
