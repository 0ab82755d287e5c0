"""A codebase's knowledge asked by any number of processes, although one at a time owns it.

::

    with open_codebase(home) as codebase:
        codebase.ask(Search(query="where is the input parsed", root="/repo"))

Whoever comes first owns ``<home>/knowledge``. If it stays (``serve=True``) it answers the others, on a socket in that
directory that only its user can open; if it does not, they wait a little for it to end. When an owner dies the next one
to ask takes its place. It is a part of ``codebase`` and not of the runtime, because it has to work with the runtime up
or down.
"""

from sylk_ray.codebase.serving.errors import (
    AnswerTooLarge,
    CodebaseClosed,
    CodebaseInUse,
    DirectoryUnusable,
    MalformedFrame,
    OwnerLost,
    SocketUnavailable,
)
from sylk_ray.codebase.serving.opening import DIRECTORY, Codebase, open_codebase
from sylk_ray.codebase.serving.server import Server, Service

__all__ = [
    "DIRECTORY",
    "AnswerTooLarge",
    "Codebase",
    "CodebaseClosed",
    "CodebaseInUse",
    "DirectoryUnusable",
    "MalformedFrame",
    "OwnerLost",
    "Server",
    "Service",
    "SocketUnavailable",
    "open_codebase",
]
