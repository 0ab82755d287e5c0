"""Archives of the listed packages, by the registries' own clients, into a folder that is kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from training.embedder.packages import Package

_SUITE = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
SOURCES = f"deb {_SUITE}deb-src {_SUITE}"
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "any")


MOST_GONE = 0.05
"""Of the packages that a registry may have no more in the version that is listed."""


class Changed(Exception):
    """An archive is not the one that was listed."""


def fetch_all(packages: Sequence[Package], cache: Path) -> list[Package]:
    """Fetch the archives; returns the packages whose archives are as listed. Debian keeps the last version of each
    alone: a few that have changed since, or are gone, are told of and left out. Raises Changed where they are a larger
    part than ``MOST_GONE``, and as ``archive_of``."""
    there: list[Package] = []
    gone: list[str] = []
    for package in packages:
        try:
            archive_of(package, cache)
        except Changed as error:
            if package.registry not in _LAST_ALONE or len(gone) + 1 > MOST_GONE * len(packages):
                raise
            gone.append(package.name)
            print(f"left out: {error}", file=sys.stderr, flush=True)
        else:
            there.append(package)
    if gone:
        print(f"left out {len(gone)} of {len(packages)} packages: {', '.join(gone)}", file=sys.stderr, flush=True)
    return there


def archive_of(package: Package, cache: Path) -> Path:
    """The archive of a package, fetched if it is not there yet.

    Raises Changed when it is another one than is listed, and ChildProcessError when a registry's client fails.
    """
    folder = cache / "archives" / f"{package.registry}-{package.name.replace('/', '-').lstrip('@')}-{package.version}"
    if folder.is_dir():
        with suppress(Changed):
            return _checked(folder, package)
        # Of an earlier list, or damaged.
        shutil.rmtree(folder)
    download = folder.with_name(f"{folder.name}.download")
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir(parents=True)
    _FETCH[package.registry](package, download, cache)
    archive = _checked(download, package)
    download.rename(folder)
    return folder / archive.name


def sha256_of(path: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(folder: Path, package: Package) -> Path:
    archives = _archives(folder, package)
    if len(archives) != 1:
        raise Changed(f"{folder} has {len(archives)} archives of {package.name} in place of one")
    [archive] = archives
    found = sha256_of(archive)
    if package.sha256 and found != package.sha256:
        raise Changed(f"{archive} has sha256 {found}, and {package.sha256} is listed for {package.name}")
    return archive


def _archives(folder: Path, package: Package) -> list[Path]:
    every = [each for each in folder.iterdir() if each.suffix != ".asc"]
    return [each for each in every if package.registry != "debian" or ".orig.tar." in each.name]


def _from_pypi(package: Package, to: Path, cache: Path) -> None:
    del cache
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(to)]
    where = [f"--platform={each}" for each in _PLATFORMS]
    wanted = f"{package.name}=={package.version}" if package.version else package.name
    _run([*pip, "--python-version=3.11", "--implementation=cp", *where, wanted], to)


def _from_npm(package: Package, to: Path, cache: Path) -> None:
    del cache
    wanted = f"{package.name}@{package.version}" if package.version else package.name
    _run(["npm", "pack", "--silent", wanted], to)


def _from_debian(package: Package, to: Path, cache: Path) -> None:
    _run_apt(["source", "--download-only", "--tar-only", package.name], to, cache)


def _from_debian_binaries(package: Package, to: Path, cache: Path) -> None:
    _run_apt(["download", package.name], to, cache)


def _run_apt(command: list[str], to: Path, cache: Path) -> None:
    """With the lists that are there, and with new ones where what those name is gone."""
    try:
        _run([*_apt(cache), *command], to)
    except ChildProcessError:
        (cache / "apt" / "updated").unlink(missing_ok=True)
        try:
            _run([*_apt(cache), *command], to)
        except ChildProcessError as error:
            if "Unable to " in str(error):
                raise Changed(f"Debian has no {command[-1]} any more: {error}") from error
            raise


def _apt(cache: Path) -> list[str]:
    """apt-get with lists of its own, which needs no root."""
    own = cache.resolve() / "apt"
    apt = ["apt-get", "--quiet=2", "-o", f"Dir::Etc::SourceList={own}/sources.list", "-o", "Dir::Etc::SourceParts=-"]
    apt += ["-o", f"Dir::State={own}/state", "-o", f"Dir::Cache={own}/cache", "-o", "APT::Sandbox::User="]
    updated = own / "updated"
    if not updated.exists():
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (own / folder).mkdir(parents=True, exist_ok=True)
        (own / "sources.list").write_text(SOURCES, "utf-8")
        _run([*apt, "update"], own)
        updated.touch()
    return apt


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChildProcessError(f"{' '.join(command[:3])} … failed: {done.stderr.strip()[-500:]}")


_LAST_ALONE = frozenset({"debian", "deb"})
_FETCH = {"pypi": _from_pypi, "npm": _from_npm, "debian": _from_debian, "deb": _from_debian_binaries}
