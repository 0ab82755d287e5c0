"""Files read here, and in processes of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from sylk_ray.codebase import processes
from sylk_ray.codebase.indexing import Indexer, readers
from sylk_ray.codebase.indexing.readers import FileRead, FilesRead, Readers, read_files
from sylk_ray.codebase.selection import walk
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.embedding.model_file import SHIPPED
from tests.unit.codebase.repository import FILES, write_repository
from tests.unit.knowledge.test_base import Letters

PATHS = sorted(path for path in FILES if not path.startswith(("drafts", "noise", ".")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "repo")


def _children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "sylk_ray.codebase.indexing" in _command(each)]


def _command(process: psutil.Process) -> str:
    """Linux lets a parent go on before its child's command line can be read."""
    while not (command := process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.001)
    return " ".join(command)


def _all(made: Readers, paths: list[str], together: int = 2) -> list[FileRead]:
    return [file for batch in made.read(_cut(paths, together)) for file in batch.files]


def _cut(paths: list[str], together: int) -> list[list[str]]:
    return [paths[start : start + together] for start in range(0, len(paths), together)]


def test_processes_read_the_same_as_this_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    embedder = StaticEmbedder()
    apart = _all(Readers(root, "s", embedder, how_many=2), PATHS)
    assert apart == read_files(root, "s", PATHS, embedder).files
    assert all(len(file.rows) == len(file.searched) for file in apart)
    assert _children() == []


def test_what_another_embedder_encodes_is_not_encoded_apart(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    assert all(file.rows == [] for file in _all(Readers(root, "s", Letters(), how_many=1), PATHS))


def test_nor_what_another_model_of_the_same_kind_encodes(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes have the shipped one: its vectors would be stored as the other's."""
    monkeypatch.setattr(processes, "MANY", 1)
    other = tmp_path / "other.safetensors"
    other.write_bytes(SHIPPED.read_bytes() + b"more")
    assert StaticEmbedder(other).name != StaticEmbedder().name
    assert all(file.rows == [] for file in _all(Readers(root, "s", StaticEmbedder(other), how_many=1), PATHS))


def test_few_files_start_no_process(root: Path) -> None:
    made = Readers(root, "s", StaticEmbedder(), how_many=2).read(_cut(PATHS, 2))
    next(made)
    assert _children() == []
    made.close()


def test_processes_begin_when_many_files_are_expected(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", len(PATHS))
    with Readers(root, "s", StaticEmbedder(), how_many=2) as made:
        made.expect(len(PATHS) - 1)
        assert _children() == []
        made.expect(len(PATHS))
        begun = _children()
        assert len(begun) == 2
        assert [file.outline.path for file in _all(made, PATHS)] == PATHS
        assert not any(each.is_running() for each in begun)


def test_processes_that_were_begun_are_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    monkeypatch.setattr(processes, "how_many", lambda: 2)
    processes.begin(root)
    begun = _children()
    assert len(begun) == 2
    with Readers(root, "s", StaticEmbedder()) as made:
        made.expect(len(PATHS))
        assert _children() == begun
        assert [file.outline.path for file in _all(made, PATHS)] == PATHS
    assert _children() == []


def test_one_that_was_begun_and_has_died_is_not_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    processes.begin(root)
    for each in _children():
        each.kill()
        each.wait()
    with Readers(root, "s", StaticEmbedder(), how_many=1) as made:
        found = _all(made, PATHS, together=len(PATHS))
    assert [file.outline.path for file in found if file.outline.language != "text"] == PATHS


def test_processes_are_less_urgent_within_this_session_and_are_not_reached_by_ctrl_c(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    with contextlib.closing(Readers(root, "s", StaticEmbedder(), how_many=1).read(_cut(PATHS, 1))) as batches:
        next(batches)
        [child] = _children()
        assert child.nice() == min(os.nice(0) + processes.NICE, 19)
        assert os.getsid(child.pid) == os.getsid(0)
        assert os.getpgid(child.pid) != os.getpgid(0)


def test_processes_take_no_module_of_the_folder_that_they_are_started_in(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    ran = tmp_path / "ran"
    for name in ("contextlib", "numpy"):
        (root / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(root)
    found = _all(Readers(root, "s", StaticEmbedder(), how_many=1), PATHS)
    assert [file.outline.path for file in found] == PATHS
    assert all(len(file.rows) == len(file.searched) for file in found)
    assert not ran.exists()


@pytest.mark.parametrize("program", ["raise SystemExit(3)", None])
def test_where_no_process_works_files_are_read_here(
    root: Path, program: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    if program:
        monkeypatch.setattr(processes, "_MAIN", program)
    else:
        monkeypatch.setattr(processes.sys, "executable", "/nowhere/python")
    found = _all(Readers(root, "s", StaticEmbedder(), how_many=2), PATHS)
    assert [file.outline for file in found] == [file.outline for file in read_files(root, "s", PATHS).files]
    assert "takes longer" in caplog.text


def test_processes_that_nobody_takes_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of others, that an index leaves out, there may be thousands.
    files = sum(1 for _ in walk(root))
    assert len(PATHS) <= files < sum(1 for path in root.rglob("*") if path.is_file())
    monkeypatch.setattr(processes, "MANY", files + 1)
    processes.begin(root)
    assert _children() == []
    monkeypatch.setattr(processes, "MANY", files)
    processes.begin(root)
    assert _children()
    with Readers(root, "s", StaticEmbedder()) as made:
        made.expect(files - 1)
        assert _children() == []
    processes.begin(root)
    processes.end_begun()
    assert _children() == []


def test_processes_for_files_that_need_not_be_read_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    with Readers(root, "s", StaticEmbedder(), how_many=2) as made:
        made.expect(len(PATHS))
        assert _children()
    assert _children() == []


def test_a_process_that_is_killed_loses_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    batches = Readers(root, "s", StaticEmbedder(), how_many=1).read(_cut(PATHS, 1))
    found = next(batches).files
    [child] = _children()
    child.kill()
    found += [file for batch in batches for file in batch.files]
    assert [file.outline.path for file in found] == PATHS


def test_who_stops_early_leaves_no_process(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    batches = Readers(root, "s", StaticEmbedder(), how_many=2).read(_cut(PATHS, 1))
    next(batches)
    assert _children()
    batches.close()
    assert _children() == []


def test_a_file_that_ends_its_reader_is_read_as_text(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 1)
    asked = readers._Reader._ask  # noqa: SLF001

    def deadly(self: readers._Reader, paths: list[str], *, as_text: bool = False) -> FilesRead | None:
        if "jar/store.py" in paths and not as_text:
            self._running().kill()
        return asked(self, paths, as_text=as_text)

    monkeypatch.setattr(readers._Reader, "_ask", deadly)  # noqa: SLF001
    found = _all(Readers(root, "s", StaticEmbedder(), how_many=1), PATHS, together=3)
    assert [file.outline.path for file in found] == PATHS
    assert [file.outline.path for file in found if file.outline.language == "text"] == ["jar/store.py"]


def test_a_file_that_ends_its_reader_while_the_one_before_is_taken_is_read_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadly = f"""
import os
from sylk_ray.codebase import reading
read_it = reading.read
def read(path, text, language=None):
    if "DEADLY" in text and language != "text":
        os.kill(os.getpid(), 9)
    return read_it(path, text, language)
reading.read = read
from {readers.__name__} import main; main()
"""
    popen = subprocess.Popen
    monkeypatch.setattr(processes, "MANY", 1)
    monkeypatch.setattr(processes.subprocess, "Popen", lambda args, **more: popen([args[0], "-c", deadly], **more))
    paths = [f"f{number}.py" for number in range(12)]
    for path in paths:
        (tmp_path / path).write_text("DEADLY = 1\n" if path == "f5.py" else "def f(): ...\n")
    found = _all(Readers(tmp_path, "s", StaticEmbedder(), how_many=1), paths, together=3)
    assert [file.outline.path for file in found] == paths
    assert [file.outline.path for file in found if file.outline.language == "text"] == ["f5.py"]


def test_an_index_is_the_same_however_its_files_were_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[object] = []
    for many in (1, 10_000):
        monkeypatch.setattr(processes, "MANY", many)
        with KnowledgeBase(tmp_path / str(many)) as base:
            Indexer(base, root).sync()
            nodes = {(node.id, node.content) for node in base.select()}
            found = [(each.node.id, round(each.score, 4)) for each in base.search.by_meaning("old cookies", 5)]
            words = [(each.node.id, round(each.score, 4)) for each in base.search.by_words("cookie jar", 5)]
            assert base.verify().well
            states.append((nodes, found, words))
    assert states[0] == states[1]
