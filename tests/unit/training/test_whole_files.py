"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from training.embedder.whole_files import whole


def test_a_file_is_there_when_it_is_complete(tmp_path: Path) -> None:
    with whole(tmp_path / "model") as file:
        file.write(b"all of it")
        assert not (tmp_path / "model").exists()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("model", b"all of it")]


@pytest.mark.parametrize("ended_by", [OSError(errno.ENOSPC, "no room"), KeyboardInterrupt()])
def test_what_is_not_completed_leaves_the_former_and_nothing_else(tmp_path: Path, ended_by: BaseException) -> None:
    (tmp_path / "model").write_bytes(b"the former")

    def half_written() -> None:
        with whole(tmp_path / "model") as file:
            file.write(b"half of")
            raise ended_by

    with pytest.raises(type(ended_by)):
        half_written()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("model", b"the former")]
