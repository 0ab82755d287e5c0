"""Every request of a codebase, answered on a knowledge base that this process owns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from sylk_ray.codebase import requests as ask
from sylk_ray.codebase.errors import NoSuchFile, NoSuchFolder, NotIndexed
from sylk_ray.codebase.globs import paths_matching
from sylk_ray.codebase.indexing import STATE, Indexer, Progress
from sylk_ray.codebase.names import Names, shown_of
from sylk_ray.codebase.remembering import Memories
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Progressed
from sylk_ray.codebase.retrieval import Retriever
from sylk_ray.codebase.selection import Selection
from sylk_ray.codebase.texts import lines_at
from sylk_ray.knowledge import Domain, KnowledgeBase, NodeType, SearchFilter

Tell = Callable[[Progressed], None]
_CODE = Domain.CODE
_DEFINITIONS = (NodeType.FUNCTION, NodeType.TYPE, NodeType.CONSTANT, NodeType.PACKAGE)


class CodeService:
    """Answers requests. Any number of threads may ask; one root is indexed by one of them at a time."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._retriever = Retriever(base)
        self._memories = Memories(base)
        self._indexers: dict[str, Indexer] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def handle(self, request: AnyRequest, progress: Tell | None = None) -> AnyAnswer:
        """The answer. Raises a SylkError: NotIndexed, NoSuchFolder, NoSuchFile, and what the knowledge base raises."""
        match request:
            case ask.Search():
                self._known(request.root)
                return self._retriever.search(request)
            case ask.SmartSearch():
                self._known(request.root)
                return self._retriever.smart_search(request)
            case ask.FindSymbol():
                return self._names(request.root).symbols(request)
            case ask.FindUsages():
                return self._usages(request)
            case ask.Dependencies():
                return self._names(request.root).dependencies(request)
            case ask.SimilarSymbols():
                return self._similar(request)
            case ask.Structure():
                return self._structure(request)
            case ask.ListFiles():
                self._known(request.root)
                paths = paths_matching(self._files(request.root), request.pattern, request.root)
                return ask.Files(paths=paths[: request.limit])
            case ask.GetFile():
                return self._file(request)
            case ask.Index():
                return self._index(request, progress)
            case ask.Known():
                return ask.KnownAnswer(known=self.is_known(request.root))
            case ask.Forget():
                return self._forget(request)
            case ask.Remember():
                return self._memories.remember(request)
            case ask.ReadThrough():
                return self._memories.read_through(request.root)
            case ask.Recall():
                return self._memories.recall(request)
            case ask.Preflight():
                return self._memories.preflight(request, indexed=self.is_known(request.root))
            case ask.Explain():
                decision = Selection(_folder(request.root)).decide(request.path)
                return ask.Explained(
                    path=request.path, counts=decision.counts, reason=decision.reason, rule=decision.rule
                )
            case ask.Stats():
                return self._stats()
            case ask.Verify():
                return self._verify(request)
            case ask.Vacuum():
                before = self._base.statistics().bytes
                self._base.vacuum()
                return ask.Vacuumed(before=before, after=self._base.statistics().bytes)

    def is_known(self, root: str) -> bool:
        """Whether a root is indexed, or has begun to be."""
        return bool(self._base.memos(_CODE, root, STATE))

    # Looking

    def _known(self, root: str) -> None:
        if not self.is_known(root):
            raise NotIndexed(f"{root} is not indexed", hint=f"Index it: sylk index {root}")

    def _names(self, root: str) -> Names:
        self._known(root)
        return Names(self._base, root)

    def _files(self, root: str) -> list[str]:
        return self._base.paths(_CODE, root)

    def _usages(self, request: ask.FindUsages) -> ask.Usages:
        found = self._names(request.root).usages(request)
        lines: dict[str, list[str]] = {}
        shown: list[ask.Usage] = []
        for usage in found.usages:
            if usage.path not in lines:
                lines[usage.path] = lines_at(request.root, usage.path) or []
            text = lines[usage.path]
            line = text[usage.line - 1].strip() if 0 < usage.line <= len(text) else ""
            shown.append(
                ask.Usage(
                    path=usage.path,
                    line=usage.line,
                    within=usage.within,
                    how=usage.how,
                    of=usage.of,
                    confidence=usage.confidence,
                    text=line[:300],
                )
            )
        return ask.Usages(name=found.name, definitions=found.definitions, usages=shown, near=found.near)

    def _similar(self, request: ask.SimilarSymbols) -> ask.Symbols:
        names = self._names(request.root)
        targets = [node for node in names.named(request.name) if node.type in _DEFINITIONS]
        if not targets:
            found = names.symbols(ask.FindSymbol(name=request.name, root=request.root))
            return ask.Symbols(name=request.name, symbols=[], near=found.near)
        only = SearchFilter(types=frozenset({NodeType.FUNCTION, NodeType.TYPE}))
        near = self._base.search.like(targets[0], request.k, only=only)
        return ask.Symbols(name=request.name, symbols=[shown_of(found.node) for found in near])

    def _structure(self, request: ask.Structure) -> ask.Outlined:
        self._known(request.root)
        wanted = request.path.strip("/").removeprefix("./")
        folder = "" if wanted in ("", ".") else f"{wanted}/"
        paths = [path for path in self._files(request.root) if path == wanted or path.startswith(folder)]
        if not paths:
            raise _no_such_file(request.path, request.root)
        files = {
            path: [
                shown_of(node)
                for node in sorted(
                    self._base.select(domain=_CODE, scope=request.root, path=path, types=_DEFINITIONS),
                    key=lambda node: (node.metadata["start"], -int(node.metadata["end"])),
                )
            ]
            for path in paths
        }
        return ask.Outlined(path=wanted, files=files)

    def _file(self, request: ask.GetFile) -> ask.FileText:
        self._known(request.root)
        if request.path not in self._files(request.root):
            raise _no_such_file(request.path, request.root)
        lines = lines_at(request.root, request.path)
        if lines is None:
            raise _no_such_file(request.path, request.root)
        start = min(max(1, request.start_line or 1), len(lines))
        end = min(len(lines) if request.end_line is None else max(start, request.end_line), len(lines))
        return ask.FileText(
            path=request.path,
            start_line=start,
            end_line=end,
            lines=len(lines),
            text="\n".join(lines[start - 1 : end]),
        )

    # Keeping

    def _index(self, request: ask.Index, progress: Tell | None) -> ask.Indexed:
        root = str(_folder(request.root))
        with self._guard:
            lock = self._locks.setdefault(root, threading.Lock())
        with lock:
            indexer = self._indexers.get(root)
            if indexer is None:
                indexer = self._indexers[root] = Indexer(self._base, Path(root))

            def tell(step: Progress) -> None:
                if progress:
                    progress(Progressed(stage=step.stage, done=step.done, total=step.total))

            report = indexer.sync(_within(Path(root), request.only), progress=tell)
            if request.renew and (_CODE, root) in self._base.outdated():
                self._base.renew(
                    _CODE,
                    root,
                    progress=lambda done, total: (
                        progress(Progressed(stage="embedding", done=done, total=total)) if progress else None
                    ),
                )
        return ask.Indexed(
            root=root,
            files=report.files,
            added=report.added,
            changed=report.changed,
            removed=report.removed,
            symbols=report.symbols,
            broken=list(report.broken),
            seconds=round(report.seconds, 3),
        )

    def _forget(self, request: ask.Forget) -> ask.Forgotten:
        if not self._memories.read_through(request.root).through:
            self._known(request.root)
        with self._guard:
            lock = self._locks.setdefault(request.root, threading.Lock())
        with lock:
            self._indexers.pop(request.root, None)
            with self._base.batch():
                nodes = sum(self._base.drop(domain, request.root) for domain in Domain)
            return ask.Forgotten(root=request.root, nodes=nodes)

    def _stats(self) -> ask.StatsAnswer:
        known = self._base.statistics()
        return ask.StatsAnswer(
            roots=known.scopes,
            nodes=known.nodes,
            edges=known.edges,
            vectors=self._base.count_vectors(),
            pending=known.pending,
            bytes=self._base.sizes(),
            embedder=self._base.embedder.name,
            gate=self._gate(known.nodes),
        )

    def _gate(self, domains: Iterable[str]) -> dict[str, float]:
        """Of each of these domains by itself: ``code.noes``."""
        numbers = self._base.guards.numbers()
        return {
            f"{domain}.{name}": float(value)
            for domain in sorted(domains)
            for name, value in msgspec.structs.asdict(numbers[Domain(domain)]).items()
        }

    def _verify(self, request: ask.Verify) -> ask.Verified:
        found = self._base.verify()
        problems = [*found.damage, *([f"{found.dangling} rows refer to nothing"] if found.dangling else [])]
        for each in found.disagreements:
            problems.append(
                f"{each.domain} {each.scope}: {len(each.missing)} nodes without vectors, {len(each.stray)} vectors"
                " without nodes"
            )
        mended = self._base.mend(found) if request.mend and not found.well else 0
        return ask.Verified(
            well=found.well or (mended > 0 and self._base.verify().well), problems=problems, mended=mended
        )


def _folder(root: str) -> Path:
    path = Path(root).expanduser().absolute()
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise NoSuchFolder(f"{path} {what}", hint="Name the folder of a repository.")
    return path.resolve()


def _within(root: Path, paths: list[str] | None) -> list[str] | None:
    """Paths as they are indexed by: relative to the root, without ``.`` and ``..``; those outside are left out."""
    if paths is None:
        return None
    found: list[str] = []
    for path in paths:
        absolute = Path(os.path.normpath(root / path))
        if absolute.is_relative_to(root):
            found.append(absolute.relative_to(root).as_posix())
    return found


def _no_such_file(path: str, root: str) -> NoSuchFile:
    return NoSuchFile(
        f"{path} is not indexed in {root}", hint=f"See why: sylk index --explain {path} (from within {root})"
    )
