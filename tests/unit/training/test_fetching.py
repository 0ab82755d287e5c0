"""Archives that are fetched and kept."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from training.embedder import fetching
from training.embedder.fetching import Changed, archive_of
from training.embedder.harvest import files
from training.embedder.packages import Package

RIGHT = b"the right archive"
PACKAGE = Package("pypi", "x", "1", "MIT", "train", ("py",), hashlib.sha256(RIGHT).hexdigest())


def test_an_archive_that_is_another_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = [b"another", RIGHT]

    def fetch(package: Package, to: Path, cache: Path) -> None:
        (to / "x.whl").write_bytes(served.pop(0))

    monkeypatch.setitem(fetching._FETCH, "pypi", fetch)
    with pytest.raises(Changed, match="is listed for x"):
        archive_of(PACKAGE, tmp_path)
    assert archive_of(PACKAGE, tmp_path).read_bytes() == RIGHT
    assert archive_of(PACKAGE, tmp_path).read_bytes() == RIGHT


@pytest.mark.parametrize("left", [[], [("x.whl", b"damaged")], [("x.whl", RIGHT), ("y.whl", RIGHT)]])
def test_what_is_there_and_not_as_listed_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[tuple[str, bytes]]
) -> None:
    monkeypatch.setitem(fetching._FETCH, "pypi", lambda package, to, cache: (to / "x.whl").write_bytes(RIGHT))
    folder = archive_of(PACKAGE, tmp_path).parent
    (folder / "x.whl").unlink()
    for name, content in left:
        (folder / name).write_bytes(content)
    assert archive_of(PACKAGE, tmp_path).read_bytes() == RIGHT
    assert [each.name for each in folder.iterdir()] == ["x.whl"]


def test_a_few_that_debian_has_another_version_of_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fetch(package: Package, to: Path, cache: Path) -> None:
        (to / "x.orig.tar.gz").write_bytes(b"newer" if package.name in newer else RIGHT)

    every = [PACKAGE._replace(registry="debian", name=f"p{number}") for number in range(40)]
    newer = {"p3", "p5"}
    monkeypatch.setitem(fetching._FETCH, "debian", fetch)
    assert [package.name for package in every if package not in fetching.fetch_all(every, tmp_path)] == ["p3", "p5"]
    assert "left out 2 of 40 packages: p3, p5" in capfd.readouterr().err
    newer |= {"p7", "p9", "p11"}
    for name in newer:
        shutil.rmtree(tmp_path / "archives" / f"debian-{name}-1", ignore_errors=True)
    with pytest.raises(Changed):
        fetching.fetch_all(every, tmp_path)


def test_what_other_registries_have_changed_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fetching._FETCH, "pypi", lambda package, to, cache: (to / "x.whl").write_bytes(b"another"))
    with pytest.raises(Changed):
        fetching.fetch_all([PACKAGE] * 100, tmp_path)


def test_what_debian_has_no_more_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], folder: Path) -> None:
        if command[-1] == "gone":
            raise ChildProcessError("apt-get … failed: E: Unable to find a source package for gone")
        if command[-1] == "offline":
            raise ChildProcessError("apt-get … failed: E: Failed to fetch: Could not resolve 'deb.debian.org'")
        (folder / "x.orig.tar.gz").write_bytes(RIGHT)

    monkeypatch.setattr(fetching, "_run", run)
    there = [PACKAGE._replace(registry="debian", name=f"p{number}") for number in range(20)]
    gone, offline = (PACKAGE._replace(registry="debian", name=name) for name in ("gone", "offline"))
    assert fetching.fetch_all([*there, gone], tmp_path) == there
    with pytest.raises(Changed, match="no gone any more"):
        fetching.fetch_all([*there[:10], gone], tmp_path)
    with pytest.raises(ChildProcessError, match="resolve"):
        fetching.fetch_all([*there, offline], tmp_path)


def test_lists_that_name_what_is_gone_are_fetched_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(command: list[str], folder: Path) -> None:
        ran.append(command[-1])
        if ran.count("update") < 2 and command[-1] == "p":
            raise ChildProcessError("404 Not Found")

    monkeypatch.setattr(fetching, "_run", run)
    fetching._from_debian(PACKAGE._replace(registry="debian", name="p"), tmp_path, tmp_path)
    assert ran == ["update", "p", "update", "p"]


def test_lists_that_could_not_be_fetched_are_fetched_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    problems = [ChildProcessError("no network")]

    def run(command: list[str], folder: Path) -> None:
        ran.append(command)
        if problems:
            raise problems.pop()

    monkeypatch.setattr(fetching, "_run", run)
    with pytest.raises(ChildProcessError):
        fetching._apt(tmp_path)
    fetching._apt(tmp_path)
    fetching._apt(tmp_path)
    assert [command[-1] for command in ran] == ["update", "update"]


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_what_people_wrote_under_a_free_licence_is_read(tmp_path: Path, suffix: str) -> None:
    code = "def opened(door):\n    return door\n" * 20
    inside = {
        "own.py": code,
        "copied.py": f"# Licensed under the GNU General Public License\n{code}",
        "either.py": f"# GPL-2.0 or MIT, as you like\n{code}",
        "made.py": f"# A Bison parser, made by GNU Bison 3.8\n{code}",
        "taken.py": f"# Originally from LevelDB, a long time ago\n{code}",
        "vendor/own.py": code,
        "contrib/draco/own.py": code,
        "leveldb-1.20/db.py": code,
        "own.txt": code,
    }
    archive = tmp_path / f"x-1{suffix}"
    if suffix == ".whl":
        with zipfile.ZipFile(archive, "w") as packed:
            for name, text in inside.items():
                packed.writestr(name, text)
    else:
        with tarfile.open(archive, "w:gz") as packed:
            for name, text in inside.items():
                entry = tarfile.TarInfo(f"x-1/{name}")
                entry.size = len(text)
                packed.addfile(entry, io.BytesIO(text.encode()))
    assert [path for path, _ in files(PACKAGE, archive, frozenset({"leveldb"}))] == ["either.py", "own.py"]
