from __future__ import annotations

import pytest

from sylk_ray.sessions import directories
from sylk_ray.sessions.directories import NotWritten, write_atomically


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new" / "record.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_is_named_and_the_old_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, b"old")

    def full(*_: object, **__: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directories.os, "fdopen", full)
    with pytest.raises(NotWritten, match=r"record\.json cannot be written: No space left on device") as failed:
        write_atomically(path, b"new")

    assert "make room" in failed.value.hint
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
