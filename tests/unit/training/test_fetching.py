"""Archives that are fetched and kept."""

from __future__ import annotations

import hashlib
import io
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
