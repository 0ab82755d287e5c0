"""How the command's process ends: exit codes, what cannot be written, and what is done at the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sylk_ray.cli import app


def ended(
    program: str, *, home: Path, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Of a process whose output is buffered, as it is where nothing else is said."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "SYLK_HOME")}
    return subprocess.run(
        [sys.executable, "-c", program],
        stdout=stdout,
        stderr=stderr,
        text=True,
        env=plain | {"SYLK_HOME": str(home)} | environment,
        check=False,
    )


def sylk_of(*arguments: str) -> str:
    return f"import sys; sys.argv[1:] = {list(arguments)}\nfrom sylk_ray.cli import main; main()"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("version",), 1, "No space left on device"),
        (("version", "--json"), 1, "error: the output cannot be written: No space left on device"),
        (("knowledge", "stats"), 1, "error: the output cannot be written: No space left on device"),
        (("--help",), 1, "No space left on device"),
        (("nope", "--json"), 2, "hint: see `"),
        (("jobs", "--json"), 3, "sylk up"),
    ],
)
def test_what_cannot_be_written_is_told(arguments, code, told, home):
    with Path("/dev/full").open("wb") as full:
        end = ended(sylk_of(*arguments), home=home, stdout=full.fileno())
    assert end.returncode == code
    assert told in end.stderr
    assert "traceback" not in end.stderr
    assert "Traceback" not in end.stderr
    assert "Exception ignored" not in end.stderr


@pytest.mark.parametrize("arguments", [("version",), ("version", "--json"), ("--help",), ("jobs", "--json")])
def test_where_nobody_reads_it_ends_in_silence(arguments, home):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        end = ended(sylk_of(*arguments), home=home, stdout=writing)
    finally:
        os.close(writing)
    assert (end.returncode, end.stderr) == (1, "")


BEGUN = """
import atexit, threading
import sylk_ray.cli.app as app

class Made:
    def __del__(self):
        print("taken apart")

made = Made()

def late():
    threading.main_thread().join()
    print("of a thread", end=" ")

def outcome(arguments):
    threading.Thread(target=late).start()
    atexit.register(print, "at the end", end="")
    {ends}

app._outcome = outcome
from sylk_ray.cli import main; main()
"""


def test_a_process_ends_when_all_is_said_and_without_taking_apart_what_it_made(home):
    end = ended(BEGUN.format(ends="return 7"), home=home)
    assert (end.returncode, end.stdout, end.stderr) == (7, "of a thread at the end", "")


@pytest.mark.parametrize(("ends", "code"), [("raise SystemExit(5)", 5), ("raise KeyboardInterrupt", 130)])
def test_the_exit_code_is_right_where_a_command_is_left_in_another_way(ends, code, home):
    end = ended(BEGUN.format(ends=ends), home=home)
    assert (end.returncode, end.stderr) == (code, "")


INTERRUPTED = """
import sys
import sylk_ray.cli.app as app

class Full:
    flushed = 0
    write = sys.stdout.write
    fileno = sys.stdout.fileno

    def flush(self):
        Full.flushed += 1
        if Full.flushed == 1:
            raise KeyboardInterrupt

sys.stdout = Full()
app._outcome = lambda arguments: 0
from sylk_ray.cli import main; main()
"""


def test_an_interruption_while_the_last_is_written_is_one(home):
    end = ended(INTERRUPTED, home=home)
    assert (end.returncode, end.stderr) == (130, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(("arguments", "code"), [(("nope",), 2), (("jobs",), 3), (("jobs", "--json"), 3)])
def test_the_exit_code_is_right_where_nothing_can_be_written(arguments, code, home):
    with Path("/dev/full").open("wb") as full:
        end = ended(sylk_of(*arguments), home=home, stdout=full.fileno(), stderr=full.fileno())
    assert end.returncode == code


def test_an_error_that_the_terminal_has_no_letters_for_is_told(home, tmp_path):
    end = ended(sylk_of("index", str(tmp_path / "größe"), "--json"), home=home, PYTHONIOENCODING="ascii")
    assert (end.returncode, end.stderr) == (2, "")
    assert "größe" in json.loads(end.stdout)["error"]["message"]


@pytest.mark.parametrize("value", ["größe", "\udcff", chr(0xD800)])
def test_a_document_is_one_whatever_is_in_it(value, tmp_path):
    print_it = f"from sylk_ray.cli.shell import print_document; print_document({value!a})"
    for encoding in ("utf-8", "ascii", "utf-8:surrogateescape"):
        end = ended(print_it, home=tmp_path, PYTHONIOENCODING=encoding)
        assert json.loads(end.stdout) in (value, "\ufffd")


@pytest.mark.parametrize("at", ["~nosuchuser", "~nosuchuser/x"])
@pytest.mark.parametrize("arguments", [("search", "x"), ("jobs",), ("inbox", "--json")])
def test_a_home_of_no_user_is_wrong_input(arguments, at, tmp_path):
    by_option = ended(sylk_of(*arguments, "--home", at), home=tmp_path)
    by_environment = ended(sylk_of(*arguments), home=Path(at))
    for end in (by_option, by_environment):
        assert end.returncode == 2
        assert "there is no user nosuchuser" in end.stdout + end.stderr
        assert "Traceback" not in end.stderr


@pytest.mark.parametrize("home", ["home", "~nosuchuser", "a\0b"])
def test_a_fault_is_told_whatever_its_log_comes_to(home, tmp_path, monkeypatch, capsys):
    def broken(arguments):
        raise ValueError("it broke")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "app_for", broken)
    assert app.run(["search", "\udcff", "--home", home, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["message"] == "ValueError: it broke"


def test_the_log_keeps_a_command_line_that_is_no_utf_8(tmp_path, monkeypatch):
    def broken(arguments):
        raise ValueError("it broke")

    monkeypatch.setattr(app, "app_for", broken)
    assert app.run(["search", "\udcff", f"--home={tmp_path}"]) == 1
    log = (tmp_path / "logs" / "cli.log").read_text(encoding="utf-8")
    assert "sylk search \\udcff" in log
    assert "ValueError: it broke" in log


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "left"),
    [
        (">&-", ("search", "zebra"), 0, ""),
        (">&-", ("search", "zebra", "--json"), 0, ""),
        (">&-", ("doctor",), None, ""),
        (">&-", ("search", "?!"), 2, "error: the query has no word"),
        ("2>&-", ("search", "zebra", "--json"), 0, '"status": "found"'),
        ("2>&-", ("search", "?!"), 2, ""),
        (">&- 2>&-", ("search", "zebra"), 0, ""),
    ],
)
def test_streams_may_be_closed_from_the_start(closed, arguments, code, left, home, tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (root / "zoo.py").write_text("def zebra(): pass\n")
    command = [sys.executable, "-c", "from sylk_ray.cli import main; main()", *arguments, "--home", str(home)]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
    end = subprocess.run(shell, cwd=root, capture_output=True, text=True, check=False)
    assert code is None or end.returncode == code
    assert (left in end.stdout + end.stderr) if left else (end.stdout == "")
    assert "Error" not in end.stderr
    if "--json" in arguments and end.stdout:
        json.loads(end.stdout)


@pytest.mark.parametrize("arguments", [("search", "x"), ("jobs",), ("models", "list"), ("doctor",)])
def test_a_home_that_cannot_be_reached_is_wrong_input(arguments, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for at, told in ((tmp_path / ("a" * 300), "File name too long"), (loop, "Too many levels of symbolic links")):
        end = ended(sylk_of(*arguments, "--home", str(at), "--json"), home=tmp_path)
        error = json.loads(end.stdout)["error"]
        assert (end.returncode, error["code"], end.stderr) == (2, "home_unreachable", "")
        assert told in error["message"]


def test_a_home_that_may_not_be_searched_is_wrong_input(tmp_path, monkeypatch, capsys):
    def stat(path, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    monkeypatch.setattr(Path, "stat", stat)
    assert app.run(["jobs"]) == 2
    assert "cannot be reached: Permission denied" in capsys.readouterr().err


def test_a_job_in_the_home_of_no_user_is_wrong_input(home, job_file):
    job_file.write_text(job_file.read_text().replace("repo: ", "repo: ~nosuchuser"))
    end = ended(sylk_of("validate", str(job_file), "--json"), home=home)
    assert end.returncode == 2
    assert json.loads(end.stdout)["error"]["code"] == "no_such_user"
