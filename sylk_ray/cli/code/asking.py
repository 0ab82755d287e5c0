"""Which root is meant, and asking about it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sylk_ray.cli.shell import Shell, escaped, is_terminal
from sylk_ray.errors import InputError
from sylk_ray.home import expanded

if TYPE_CHECKING:
    from sylk_ray.codebase.requests import Answer, AnyRequest, Indexed, Progressed
    from sylk_ray.codebase.serving import Codebase

A = TypeVar("A", bound="Answer")

Repo = Annotated[
    Path,
    typer.Option("--repo", metavar="PATH", help="A folder within the repository that is meant.", show_default="here"),
]
Refresh = Annotated[
    bool,
    typer.Option("--refresh/--no-refresh", help="Take in what has changed in the files first."),
]
_SOON_S = 0.5
"""Progress is shown of what takes longer."""


def root_of(path: Path) -> Path:
    """The repository that a path is in: the nearest folder above with a ``.git``, or else the path itself.

    Raises NoSuchFolder for one that is none, NotUtf8, and NoSuchUser.
    """
    from sylk_ray.codebase.errors import NoSuchFolder

    with looking_at(path):
        wanted = expanded(path).absolute()
        if not wanted.exists():
            raise NoSuchFolder(f"{wanted} does not exist", hint="Name the folder of a repository.")
        if not wanted.is_dir():
            raise NoSuchFolder(f"{wanted} is no folder", hint="Name the folder of a repository.")
        resolved = wanted.resolve()
        return in_utf8(next((each for each in (resolved, *resolved.parents) if (each / ".git").exists()), resolved))


@contextmanager
def looking_at(path: Path) -> Generator[None]:
    """What the system says of a path that cannot be reached, as NoSuchFolder."""
    from sylk_ray.codebase.errors import NoSuchFolder

    try:
        yield
    except OSError as problem:
        raise NoSuchFolder(
            f"{path} cannot be reached: {problem.strerror}", hint="Name a folder that this user may read."
        ) from problem


def in_utf8(path: Path) -> Path:
    """A path whose name can be kept, which is itself. Raises NotUtf8."""
    try:
        str(path).encode()
    except UnicodeEncodeError as problem:
        told = os.fsencode(path).decode(errors="backslashreplace")
        raise NotUtf8(
            f"the path {told} is no UTF-8", hint="Rename it: what is known is kept by UTF-8 paths."
        ) from problem
    return path


class NotUtf8(InputError):
    """A path that nothing can be kept under."""

    code = "path_not_utf8"


class Asking:
    """Asks whoever owns the knowledge."""

    def __init__(self, shell: Shell, codebase: Codebase) -> None:
        self._shell = shell
        self._codebase = codebase

    def ask(self, request: AnyRequest, kind: type[A], progress: Callable[[Progressed], None] | None = None) -> A:
        """The answer, which is of this kind. Raises the SylkError that it ends with."""
        answer = self._codebase.ask(request, progress)
        assert isinstance(answer, kind), answer
        return answer

    def index(self, root: Path, *, quietly: bool = False) -> Indexed:
        """Take in what has changed; with progress on the terminal, or a line now and then in a pipe."""
        from sylk_ray.codebase.requests import Index, Indexed

        shown = _Shown(self._shell, root, quietly)
        try:
            return self.ask(Index(root=str(root), renew=not quietly), Indexed, shown)
        finally:
            shown.end()

    @property
    def codebase(self) -> Codebase:
        """Whom it asks."""
        return self._codebase

    def refresh(self, root: Path, *, refresh: bool) -> None:
        """Take in what has changed, or at least what was never indexed."""
        from sylk_ray.codebase.requests import Known, KnownAnswer

        if refresh or not self.ask(Known(root=str(root)), KnownAnswer).known:
            self.index(root, quietly=True)


def looked_up(shell: Shell, root: Path, request: AnyRequest, kind: type[A], *, refresh: bool) -> A:
    """The answer about a root, after what has changed in it was taken in."""
    with asking(shell, root) as code:
        code.refresh(root, refresh=refresh)
        return code.ask(request, kind)


@contextmanager
def asking(shell: Shell, root: Path | None = None) -> Generator[Asking]:
    """Open the knowledge of the state directory, or reach who owns it; other commands are answered meanwhile. ``root``
    is what will be asked about: where a home knows nothing yet, what will read its files begins before all else."""
    from sylk_ray.codebase import processes
    from sylk_ray.codebase.serving import open_codebase
    from sylk_ray.codebase.serving.opening import DIRECTORY

    # Matrix products are small here, and numpy's threads for them would spin while they wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # What is wrong with a home is told by who opens it.
        with suppress(OSError):
            if root is not None and not (shell.home / DIRECTORY).exists():
                processes.begin(root)
        with open_codebase(shell.home, serve=True) as codebase:
            yield Asking(shell, codebase)
    finally:
        processes.end_begun()


class _Shown:
    """Progress as a line that is overwritten, or every five seconds one of its own."""

    def __init__(self, shell: Shell, root: Path, quietly: bool) -> None:
        self._shell = shell
        self._root = root
        self._every = 0.1 if is_terminal(sys.stderr) else 5.0
        self._last = time.monotonic() + (_SOON_S if quietly else 0.0) - self._every
        self._open = False

    def __call__(self, step: Progressed) -> None:
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        line = escaped(f"{self._root.name}: {step.stage} {step.done} of {step.total}")
        if is_terminal(sys.stderr):
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._open = True
        else:
            self._shell.note(line)

    def end(self) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
