"""A service on a real knowledge base that can be held up, and a process that opens it::

python -m tests.unit.codebase.serving.owning <home> serve|short [ask]
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from sylk_ray.codebase.indexing import Indexer
from sylk_ray.codebase.requests import (
    AnyAnswer,
    AnyRequest,
    Explain,
    Files,
    FileText,
    GetFile,
    Index,
    Indexed,
    ListFiles,
    Progressed,
    Stats,
    Vacuum,
    Vacuumed,
)
from sylk_ray.codebase.serving import open_codebase
from sylk_ray.codebase.serving.server import Service
from sylk_ray.errors import InputError
from sylk_ray.knowledge import Domain, KnowledgeBase
from sylk_ray.knowledge.store import UnknownNode

GO = "go"
"""A vacuum waits until there is a file of this name in the directory."""


class Held:
    """Indexes and lists; ``Vacuum`` waits until it is let go, ``Explain`` raises, ``Stats`` breaks."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._writing = threading.Lock()

    def handle(self, request: AnyRequest, progress: Callable[[Progressed], None] | None = None) -> AnyAnswer:
        match request:
            case Index(root=root, only=only):
                with self._writing:
                    done = Indexer(self._base, Path(root)).sync(only)
                return Indexed(
                    root=done.root,
                    files=done.files,
                    added=done.added,
                    changed=done.changed,
                    removed=done.removed,
                    symbols=done.symbols,
                    broken=list(done.broken),
                    seconds=done.seconds,
                )
            case ListFiles(root=root):
                found = self._base.select(domain=Domain.CODE, scope=root)
                return Files(paths=sorted({node.path for node in found if node.path}))
            case Vacuum():
                if progress is not None:
                    progress(Progressed(stage="waiting", done=0, total=1))
                while not (self._base.directory / GO).exists():
                    threading.Event().wait(0.02)
                return Vacuumed(before=2, after=1)
            case Explain(path="strange"):
                raise type("Strange", (InputError,), {"code": "strange"})("never heard of")
            case Explain(path=path):
                raise UnknownNode(f"there is no {path}", hint="look elsewhere")
            case GetFile(path=path):
                return FileText(path=path, start_line=1, end_line=1, lines=1, text="x" * int(path))
            case Stats():
                raise ZeroDivisionError("a mistake")
            case _:
                raise AssertionError(request)


def own(directory: Path) -> tuple[KnowledgeBase, Service]:
    """As ``open_codebase`` takes it."""
    base = KnowledgeBase(directory)
    return base, Held(base)


def main() -> None:
    """Says whether it is the owner, asks what it is told to on stdin, and ends with it."""
    home, how = Path(sys.argv[1]), sys.argv[2]
    with open_codebase(home, serve=how == "serve", own=own) as codebase:
        print(codebase.is_owner, flush=True)
        for line in sys.stdin:
            answer = codebase.ask(Index(root=line.strip()))
            assert isinstance(answer, Indexed)
            print(answer.files, codebase.is_owner, flush=True)


if __name__ == "__main__":
    main()
