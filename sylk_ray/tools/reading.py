"""What a tool may read beside its worktree: the system, the toolchains of its PATH, the repository's git directory,
and what the job grants. All else is some person's, and hidden."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from sylk_ray.home import default_home
from sylk_ray.tools.toolchains import toolchains

SYSTEM = tuple(
    Path(folder)
    for folder in (
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix/store", "/gnu/store"),
        *("/snap", "/proc", "/sys", "/dev/random", "/dev/urandom"),
        *("/var/lib/dpkg", "/var/lib/gems", "/var/lib/ghc", "/var/lib/texmf", "/var/cache/fontconfig"),
    )
)
"""Of /var, what distributions keep there of their programs; of /dev and /run, what is nobody's."""
SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssh", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/docker", "/etc/wireguard"),
    *("/etc/NetworkManager", "/etc/letsencrypt", "/etc/rancher"),
)
"""What root can read of /etc, and its tools need not."""
_RESOLVER = Path("/etc/resolv.conf")
NARROWER = "Grant the folders that the tool needs, and none with that in it."
"""What to do about a grant that would open what is hidden."""
_MOST_ALTERNATES = 16
_SHOWN = 3
_PATH = re.compile(r"""'(/[^'\n]+)'|"(/[^"\n]+)"|(?<![\w.~/-])(/[^\s:'"`]+)""")
_DENIED = "ermission denied"


def readable(path: str, repository: Path | None, granted: Sequence[Path]) -> tuple[Path, ...]:
    """Everything beside the worktree and the private folder, each once: for tools with this PATH in a worktree of the
    repository. Blocks for some 100 us, and some 100 ms the first time."""
    own = git_directories(repository) if repository is not None else ()
    return (*_of_machine(toolchains(path)), *own, *granted)


def hidden() -> tuple[Path, ...]:
    """What no tool reads, also within what is readable: the state directory, where the tokens of the runtime and of
    its Ray lie, and the work of every other session; and the machine's own secrets, which only root could read. Its
    own worktree and private folder, which lie there, a tool has all the same."""
    home = default_home()
    return (home.resolve(), *_secrets()) if home.exists() else _secrets()


def opened_by(path: Path, what: Literal["read", "write"]) -> Path | None:
    """Of what is hidden, that which a grant of this path (absolute, links followed) would open, if any. What may be
    written to can be read as a whole, so a grant to write must not lie above it either."""
    for each in hidden():
        if path.is_relative_to(each) or (what == "write" and each.is_relative_to(path)):
            return each
    return None


@functools.cache
def _secrets() -> tuple[Path, ...]:
    if os.geteuid() != 0:
        return ()
    return tuple(each.resolve() for each in map(Path, SECRETS) if each.exists())


@functools.lru_cache(maxsize=8)
def _of_machine(installed: tuple[Path, ...]) -> tuple[Path, ...]:
    roots: list[Path] = []
    resolver = (_RESOLVER.resolve(),) if _RESOLVER.is_symlink() else ()
    for each in (*SYSTEM, *resolver, *installed):
        if each.exists() and not _within(each, roots):
            roots.append(each)
    return tuple(roots)


def git_directories(repository: Path) -> tuple[Path, ...]:
    """Where a repository, which may be bare or itself a worktree, keeps its objects and its worktrees' indices; and the
    repositories that it borrows objects from. A tool cannot write to any of what is asked here."""
    found: list[Path] = []
    pending = [_common(repository)]
    while pending and len(found) < _MOST_ALTERNATES:
        directory = pending.pop()
        found.append(directory)
        objects = directory / "objects"
        with suppress(OSError):
            lines = (objects / "info" / "alternates").read_text(errors="surrogateescape").splitlines()
            pending += [(objects / line).resolve().parent for line in lines if line and not line.startswith("#")]
    return tuple(found)


def hint_for(output: str, allowed: Sequence[Path]) -> str:
    """What to do about it, when an output tells of a path that could not be read because it is hidden; empty when
    nothing tells that."""
    secret = hidden()
    refused = [
        path
        for path in dict.fromkeys(_refused(output))
        if os.path.lexists(path) and not _within(path, allowed) and not _within(path, secret)
    ]
    if not refused:
        return ""
    shown = ", ".join(map(str, refused[:_SHOWN]))
    return f"tools read only their worktree and the system; a job grants more: sandbox: {{read: [{shown}]}}"


def _refused(output: str) -> Iterator[Path]:
    for line in output.splitlines():
        if _DENIED in line:
            for found in _PATH.finditer(line):
                yield Path(found[1] or found[2] or found[3])


def _common(repository: Path) -> Path:
    pointer = repository / ".git"
    if pointer.is_dir():
        return pointer.resolve()
    try:
        directory = repository / pointer.read_text().removeprefix("gitdir:").strip()
    except OSError:
        return repository.resolve()  # a bare one
    with suppress(OSError):
        directory = directory / (directory / "commondir").read_text().strip()
    return directory.resolve()


def _within(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
