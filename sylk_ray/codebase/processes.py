"""Processes that read files for an index: begun when one is wanted, or before what owns the index is loaded.

::

    processes.begin(root)           # if it holds many files
    ...                             # imports, opening the store: a quarter of a second
    process = processes.take()      # one that was begun, or else one that begins now
    processes.end_begun()           # those that nobody took
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

from sylk_ray.codebase.selection import walk

MANY = 150
"""Files from which on processes are started for them: one takes a quarter of a second of processor to start."""
MOST = 3
"""Processes for one index: these read as fast as their owner can store."""
PIPE_BYTES = 1 << 20
"""Of an answer that wait in the pipe, where the system lets them. Who takes them has to wait for the owner's Python
after each piece."""
NICE = 10
"""How much less urgent reading is than what people wait for."""
_ONE_PROCESSOR = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS"), "1"
)
"""For matrix products: there are processes for the other processors already."""
_MAIN = f"""
import contextlib, os
with contextlib.suppress(OSError):
    os.nice({NICE})
from sylk_ray.codebase.indexing.readers import main
main()
"""

_begun: list[subprocess.Popen[bytes]] = []
_lock = threading.Lock()


def how_many() -> int:
    """How many processes read for one index."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST, own)


def begin(root: Path) -> None:
    """Begin those that an index of a folder will want, if it holds many files."""
    if sum(1 for _ in islice(walk(root), MANY)) == MANY:
        with _lock:
            while len(_begun) < how_many():
                _begun.append(_start())


def take() -> subprocess.Popen[bytes]:
    """A process, which belongs to the caller; see ``indexing.readers.main`` for what it is asked and answers."""
    with _lock:
        while _begun:
            process = _begun.pop()
            if process.poll() is None:
                return process
    return _start()


def end_begun() -> None:
    """End those that were begun and not taken."""
    with _lock:
        while _begun:
            end(_begun.pop())


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process now, whatever it is at."""
    process.kill()
    process.wait()


def _start() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        # Else modules of the folder that it is started in, which may be anybody's repository, were imported.
        [sys.executable, "-P", "-c", _MAIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **_ONE_PROCESSOR},
        # Ctrl-C is for the owner. In a session of its own Linux would give it as much time as all of the owner's.
        process_group=0,
    )
    if hasattr(fcntl, "F_SETPIPE_SZ") and process.stdout is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return process
