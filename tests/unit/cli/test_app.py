"""Which commands there are, and when they are loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sylk_ray.cli.app import run
from sylk_ray.cli.commands import COMMANDS, wanted_by
from sylk_ray.cli.shell import Shell


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.split("Commands:")[1].splitlines()
    assert {line.split()[0] for line in lines if line[2:3].strip()} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_found_by_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f" {name} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["search", "status"], ["search"]),
        (["--home", "search", "status"], list(COMMANDS)),
        (["serach", "status"], list(COMMANDS)),
        ([], list(COMMANDS)),
    ],
)
def test_all_are_loaded_where_the_first_word_is_none(arguments: list[str], wanted: list[str]) -> None:
    assert list(wanted_by(arguments)) == wanted


def test_one_that_is_misspelt_is_compared_with_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serach", "x", "--json"]) == 2
    assert "search" in json.loads(capsys.readouterr().out)["error"]["message"]


@pytest.mark.parametrize("arguments", [["--json"], ["--json", "plan"], ["plan", "--json"]])
def test_programs_are_told_that_a_command_is_missing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["exit_code"]) == ("usage", 2)
    assert len(error["message"]) < 80


@pytest.mark.parametrize("arguments", [[], ["plan"]])
def test_without_a_command_those_that_there_are_are_shown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert (told.out, told.err[:7], "Commands:" in told.err, "error:" in told.err) == ("", "Usage: ", True, False)


def test_the_package_runs_as_a_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "sylk_ray", "serach", "x"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "Did you mean 'search'?" in told.stderr
    assert "hint: see `python -m sylk_ray --help`" in told.stderr


def test_nothing_that_is_said_commands_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    shell.say("one\ttwo\r\nthree", "\x1b[2J\x9bm\rfour")
    shell.note("\x1b]0;title\x07")
    told = capsys.readouterr()
    assert told.out == "one\ttwo\nthree\n\\x1b[2J\\x9bm\\rfour\n"
    assert told.err == "\\x1b]0;title\\x07\n"
