"""Matrix products on the thread that asks for them, as long as they are small.

OpenBLAS gives half of each to a thread of its own for every processor, and whichever is done first spins until the
others are. Where processors have other work, that costs many times what the product takes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_THREADS = "OPENBLAS_NUM_THREADS"
"""Of the environment: 1 in processes that search and index."""
_limiting = threading.Lock()


@contextmanager
def one_thread() -> Generator[None]:
    """Within, BLAS has one thread in this process, and as many as before when who came first leaves. Some 10 us."""
    # Two that overlap would each put back what it found: the one in the middle found 1.
    if os.environ.get(_THREADS) == "1" or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):  # pyright: ignore[reportUnknownMemberType]
            yield
    finally:
        _limiting.release()


@cache
def _blas() -> ThreadpoolController:
    """Of the libraries that are loaded when it is first asked, numpy's among them."""
    # Takes as long as a search; who has one thread anyway does without.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
