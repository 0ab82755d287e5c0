"""Where the programs of a PATH come from: the installations that a tool has to read in order to run them.

Of a PATH's folders, most are the system's. The others lie among a person's files (a pyenv, an nvm, a virtual
environment), and so does what is linked to from either. Of these the installation is found that a program is a part
of, and never more: not the home directory that ``bin`` is in, not the repository, and not what a manager of
toolchains keeps beside them, such as the credentials in ``~/.cargo``.
"""

from __future__ import annotations

import functools
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PROGRAMS = frozenset({"bin", "sbin", "shims", ".bin", "Scripts", "condabin"})
"""What folders of programs are called, whose parent may be an installation."""
_MARKS = ("pyvenv.cfg", "conda-meta", "include", "release", "VERSION")
"""What an installation of Python, Conda, Node, Ruby, Java or Go has at its top, and a repository rarely."""
_PARTS = (
    *("bin", "sbin", "shims", "lib", "lib64", "libexec", "include", "pkg", "plugins", "tools"),
    *("versions", "version", "installs", "toolchains", "registry", "pyenv.d", "rbenv.d", "nodenv.d"),
)
"""What is an installation's own where more may lie beside it."""

_FIRST_PERSON = 1000
"""The user numbers below are the system's."""


def toolchains(path: str) -> tuple[Path, ...]:
    """Folders and files (absolute, links followed) that the programs of a PATH, and this Python, are a part of; those
    of the system among them. Blocks: some tens of ms the first time that the folders are as they are."""
    folders = tuple(dict.fromkeys(folder for folder in path.split(os.pathsep) if folder.startswith("/")))
    return _toolchains(tuple((folder, _changed(folder)) for folder in folders))


def rustup_home(path: str) -> Path | None:
    """Where rustup has its toolchains, when a folder of the PATH has rustup; its programs ask the environment."""
    if not any((Path(folder) / "rustup").exists() for folder in path.split(os.pathsep) if folder.startswith("/")):
        return None
    home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    return home if home.is_dir() else None


@functools.lru_cache(maxsize=8)
def _toolchains(folders: tuple[tuple[str, int], ...]) -> tuple[Path, ...]:
    homes = _homes()
    found: dict[Path, None] = {}
    for own in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        found[Path(own).resolve()] = None
    for folder in dict.fromkeys(Path(os.path.realpath(name)) for name, _ in folders):  # /bin may be /usr/bin
        with suppress(OSError, RuntimeError):
            found.update(dict.fromkeys(_installation(folder.resolve(strict=True), homes)))
            for target in _led_to(folder):
                found.update(dict.fromkeys(_of_program(target, homes, found)))
    rustup = rustup_home(os.pathsep.join(folder for folder, _ in folders))
    if rustup is not None:
        found[rustup.resolve()] = None
    return tuple(found)


def _led_to(folder: Path) -> Iterator[Path]:
    """What the links of a folder, itself no link, lead to in other folders."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                with suppress(OSError, RuntimeError):
                    target = Path(entry.path).resolve(strict=True)
                    if target.parent != folder:
                        yield target


def _of_program(target: Path, homes: frozenset[Path], known: Iterable[Path]) -> Iterator[Path]:
    if any(target.is_relative_to(each) for each in known):
        return
    if target.is_file() and os.access(target, os.X_OK):
        if target.parent.name in _PROGRAMS:
            yield from _installation(target.parent, homes)
        yield target


def _installation(folder: Path, homes: frozenset[Path]) -> Iterator[Path]:
    """Of a folder of programs: itself, and what they need beside it."""
    parent = folder.parent
    if _is_a_persons(folder, homes):
        return
    yield folder
    if folder.name not in _PROGRAMS or _is_a_persons(parent, homes):
        return
    if not _is_a_manager(parent, homes) and (folder.name == ".bin" or any((parent / mark).exists() for mark in _MARKS)):
        yield parent
        return
    yield from (parent / part for part in _PARTS if (parent / part).exists() and part != folder.name)


def _is_a_persons(folder: Path, homes: frozenset[Path]) -> bool:
    """Whether more is in it than programs and their parts: a home directory, what holds those, a repository."""
    if any(home.is_relative_to(folder) for home in homes):
        return True
    return (folder / ".git").exists() and not _is_a_manager(folder, homes)


def _is_a_manager(folder: Path, homes: frozenset[Path]) -> bool:
    """Whether it is such a folder as ~/.cargo, ~/.local, or ~/.pyenv, which is a clone of its own repository."""
    return folder.parent in homes and folder.name.startswith(".")


def _homes() -> frozenset[Path]:
    """The home directories of this machine's people."""
    homes = {Path(user.pw_dir) for user in pwd.getpwall() if user.pw_uid >= _FIRST_PERSON} | {
        Path.home(),
        Path("/root"),
    }
    with suppress(OSError):
        homes |= set(Path("/home").iterdir())
    return frozenset(home.resolve() for home in homes if home.is_absolute())


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - a string, on the way of each tool
    except OSError:
        return 0
