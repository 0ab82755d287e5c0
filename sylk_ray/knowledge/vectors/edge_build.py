"""Build a shard's indexes in a process of its own: ``python -I edge_build.py FOLDER``.

The engine builds them in the calling process without letting any other of its Python threads run meanwhile, which may
be a minute. This file is run by its path and imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """What is built for a process that was killed is of use to nobody."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[2]):
        sys.exit(1)


def main() -> None:
    end_with_parent()
    os.nice(10)
    from qdrant_edge import EdgeShard

    shard = EdgeShard.load(sys.argv[1])
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main()
