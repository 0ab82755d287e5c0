"""``sylk index``, ``search`` and the others about code, as a person types them; no runtime is up."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.cli.app import run
from sylk_ray.cli.code.deps import as_dot, as_mermaid
from sylk_ray.codebase import processes
from sylk_ray.codebase.requests import Dependency, DependencyGraph
from tests.unit.codebase.repository import write_repository

Sylk = Callable[..., tuple[int, str, str]]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = write_repository(tmp_path / "repo")
    (made / ".git").mkdir()
    return made


def _json(done: tuple[int, str, str], code: int = 0) -> Any:
    assert done[0] == code, done
    return json.loads(done[1])


def test_a_first_search_indexes_and_finds(sylk: Sylk, repo: Path) -> None:
    found = _json(sylk("search", "where are cookies kept", "--repo", repo / "jar", "--json"))
    assert list(found) == ["query", "status", "took_ms", "tokens", "also_exists_in", "results"]
    first = found["results"][0]
    assert list(first) == [
        *("path", "start_line", "end_line", "symbol", "kind", "language", "score", "why", "snippet"),
    ]
    assert (found["status"], first["path"], first["language"]) == ("found", "jar/store.py", "python")
    (repo / "jar/clock.py").write_text("def zebra_crossing():\n    pass\n")
    again = _json(sylk("search", "zebra", "--repo", repo, "--json"))
    assert again["results"][0]["symbol"] == "zebra_crossing"
    stale = _json(sylk("search", "zebra", "--repo", repo, "--json", "--no-refresh"))
    assert stale["results"][0]["symbol"] == "zebra_crossing"


def test_what_reads_begins_before_all_else_where_a_home_knows_nothing(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Path | None] = []
    monkeypatch.setattr(processes, "begin", told.append)
    monkeypatch.setattr(processes, "end_begun", lambda: told.append(None))
    assert run(["index", "--explain", str(repo / "jar/store.py"), "--home", str(home)]) == 0
    assert set(told) == {None}
    shutil.rmtree(home / "knowledge")
    for command in (["index", str(repo)], ["search", "cookies", "--repo", str(repo)]):
        told.clear()
        assert run([*command, "--home", str(home)]) == 0
        assert told[0] == repo
        assert told[-1] is None
        told.clear()
        assert run([*command, "--home", str(home)]) == 0
        assert set(told) == {None}
        shutil.rmtree(home / "knowledge")


def test_what_is_nowhere_is_said_to_be_nowhere(sylk: Sylk, repo: Path) -> None:
    found = _json(sylk("search", "quantum chromodynamics", "--repo", repo, "--json"))
    assert (found["status"], found["results"], found["tokens"]) == ("no_matches", [], 0)
    assert found["hint"]
    code, output, _ = sylk("search", "quantum chromodynamics", "--repo", repo)
    assert (code, output.startswith("nothing found for 'quantum chromodynamics'")) == (0, True)
    long = "quantum" * 1000
    assert _json(sylk("search", long, "--repo", repo, "--json"))["query"] == long
    code, output, _ = sylk("search", long, "--repo", repo)
    assert (code, "quantumqua...'" in output, len(output) < 400) == (0, True, True)


def test_colours_are_for_terminals_and_for_who_wants_them(
    sylk: Sylk, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("search", "hash a password", "--repo", repo, "-k", 1)
    assert "\x1b[" not in sylk(*asked)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in sylk(*asked)[1]


@pytest.mark.parametrize("colours", [{}, {"FORCE_COLOR": "1"}])
def test_what_is_found_cannot_command_the_terminal(sylk: Sylk, repo: Path, colours: dict[str, str]) -> None:
    (repo / "esc\x1b[2J\n.py").write_bytes(b'def zebra():\r\n\tx = "\x1b]0;gone\x07\x7f\xc2\x9b3m"\r\n')
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "".join(sylk("search", "zebra", "--repo", repo, "-k", 1, **colours)[1:]))
    assert r"1. esc\x1b[2J\n.py:1-2" in plain
    assert r'x = "\x1b]0;gone\x07\x7f\x9b3m"' in plain
    assert not re.search(r"[^\n\t -~]|\\r", plain)
    for command in ("symbol", "usages", "deps", "graph"):
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", sylk(command, "zebra", "--repo", repo)[1])
    found = _json(sylk("search", "zebra", "--repo", repo, "-k", 1, "--json"))["results"][0]
    assert (found["path"], "\x1b]0;gone\x07" in found["snippet"]) == ("esc\x1b[2J\n.py", True)


def test_people_see_where_why_and_the_lines(sylk: Sylk, repo: Path) -> None:
    code, output, errors = sylk("search", "hash a password", "--repo", repo, "-k", 1)
    assert code == 0, errors
    lines = output.splitlines()
    assert lines[0] == "1. jar/crypt.py:4-6  hash_password (function)  1.00"
    assert "says the words" in lines[1]
    assert lines[2].strip() == "4  def hash_password(password, salt):"


def test_indexing_says_what_it_did_and_does_only_what_is_needed(sylk: Sylk, repo: Path) -> None:
    first = _json(sylk("index", repo, "--json"))
    assert (first["files"], first["added"], first["changed"], first["removed"]) == (8, 8, 0, 0)
    (repo / "jar/clock.py").unlink()
    (repo / "jar/new.py").write_text("def fresh(): pass\n")
    again = _json(sylk("index", repo, "--json"))
    assert (again["added"], again["changed"], again["removed"]) == (1, 0, 1)
    code, output, _ = sylk("index", "--explain", repo / "drafts/out.py")
    assert (code, "left out: ignored (.gitignore:1: drafts/)" in output) == (0, True)
    assert _json(sylk("index", repo, "--forget", "--json"))["nodes"] > 0
    assert _json(sylk("knowledge", "stats", "--json"))["roots"] == {}


def test_names_usages_and_dependencies_are_told(sylk: Sylk, repo: Path) -> None:
    at = ("--repo", repo, "--json")
    [symbol] = _json(sylk("symbol", "CookieJar.put", *at))["symbols"]
    assert (symbol["path"], symbol["start_line"]) == ("jar/store.py", 16)
    assert _json(sylk("usages", "now", *at))["usages"][0]["how"] in ("calls", "imports")
    deps = _json(sylk("deps", "jar/store.py", *at))
    assert "jar/clock.py" in [edge["target"] for edge in deps["edges"]]
    code, output, _ = sylk("graph", "now", "--reverse", "--format", "dot", "--repo", repo)
    assert (code, '"jar/store.py#CookieJar.put" -> "jar/clock.py#now" [label=calls];' in output) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "x", "--repo", "/nowhere/at/all"], "/nowhere/at/all does not exist"),
        (["index", "/nowhere/at/all"], "/nowhere/at/all does not exist"),
        (["index", "/etc/passwd"], "/etc/passwd is no folder"),
        (["search", "?!"], "the query has no word"),
        (["search", "x", "--lang", "pyhton"], "Did you mean python"),
        (["search", "x", "-k", "0"], "invalid value for '-k'"),
        (["search", "x", "--kind", "thing"], "invalid value for '--kind'"),
        (["index", "--watch", "--forget"], "different things"),
    ],
)
def test_wrong_input_is_named_and_ends_with_2(sylk: Sylk, arguments: list[str], said: str) -> None:
    code, output, errors = sylk(*arguments)
    assert (code, output) == (2, "")
    assert said in errors


@pytest.mark.parametrize(
    "arguments", [("search", "x", "--repo"), ("index",), ("index", "--forget"), ("index", "--explain")]
)
def test_a_path_that_is_no_utf_8_ends_with_2(sylk: Sylk, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    code, output, errors = sylk(*arguments, odd)
    assert (code, output) == (2, "")
    assert "odd\\xff is no UTF-8" in errors
    output = sylk(*arguments, odd, "--json")[1]
    assert json.loads(output)["error"]["code"] == "path_not_utf8"


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}])
def test_a_query_that_is_no_utf_8_is_answered_in_utf_8(
    start: Callable[..., subprocess.Popen[str]], sylk: Sylk, repo: Path, locale: dict[str, str]
) -> None:
    odd = os.fsdecode(b"cookie \xff")
    asked = ("search", odd, "--repo", repo, "--json")
    assert _json(sylk(*asked, **locale))["query"] == "cookie \ufffd"
    assert "\ufffd" in _json(sylk("deps", odd, "--repo", repo, "--json", **locale), code=2)["error"]["message"]
    watching = start("index", repo, "--watch", "--json")
    assert watching.stdout is not None
    watching.stdout.readline()
    # Another process owns what is known.
    assert _json(sylk(*asked, "--path", os.fsdecode(b"*\xff"), **locale))["status"] == "no_matches"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "x", "--repo", "a" * 300], "File name too long"),
        (["search", "x", "--repo", "a/" * 2500], "File name too long"),
        (["search", "x", "--repo", "~nosuchuser/x"], "there is no user nosuchuser"),
        (["index", "--explain", "a" * 300 + "/x.py"], "File name too long"),
        (["index", "a" * 300, "--forget"], "File name too long"),
    ],
)
def test_a_path_that_cannot_be_reached_ends_with_2(sylk: Sylk, arguments: list[str], said: str) -> None:
    code, output, errors = sylk(*arguments)
    assert (code, output) == (2, "")
    assert said in errors


@pytest.mark.parametrize("arguments", [["search", "x", "--repo"], ["index", "--explain"], ["index"]])
def test_a_path_that_may_not_be_read_ends_with_2(
    arguments: list[str],
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hidden = tmp_path / "hidden"
    of_others = Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        if path.is_relative_to(hidden):
            raise PermissionError(13, "Permission denied", str(path))
        return of_others(path, **options)

    monkeypatch.setenv("SYLK_HOME", str(home))
    monkeypatch.setattr(Path, "stat", stat)
    assert run([*arguments, str(hidden / "in" / "a.py")]) == 2
    assert "cannot be reached: Permission denied" in capsys.readouterr().err


def test_a_name_that_is_misspelt_is_corrected(sylk: Sylk, repo: Path) -> None:
    code, _, errors = sylk("symbol", "CokieJar", "--repo", repo)
    assert code == 2
    assert "Did you mean CookieJar" in errors
    document = _json(sylk("usages", "CokieJar", "--repo", repo, "--json"), code=2)
    assert document["error"]["code"] == "no_such_name"


def test_knowledge_is_verified_vacuumed_and_counted(sylk: Sylk, repo: Path) -> None:
    assert sylk("index", repo)[0] == 0
    assert _json(sylk("knowledge", "verify", "--json"))["well"] is True
    assert _json(sylk("knowledge", "vacuum", "--json"))["after"] > 0
    stats = _json(sylk("knowledge", "stats", "--json"))
    assert stats["roots"] == {str(repo): sum(stats["nodes"]["code"].values())}


def test_a_repository_that_is_gone_can_be_forgotten(sylk: Sylk, repo: Path) -> None:
    assert sylk("index", repo)[0] == 0
    shutil.rmtree(repo)
    assert _json(sylk("index", repo, "--forget", "--json"))["nodes"] > 0


def test_a_pattern_that_is_none_ends_with_2(sylk: Sylk, repo: Path) -> None:
    document = _json(sylk("search", "cookie", "--repo", repo, "--path", "!", "--json"), code=2)
    assert document["error"]["code"] == "invalid_glob"


def test_two_searches_at_once_both_answer(start: Callable[..., subprocess.Popen[str]], repo: Path) -> None:
    both = [start("search", "cookie", "--repo", repo, "--json") for _ in range(3)]
    for process in both:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert json.loads(output)["results"][0]["path"] == "jar/store.py"


def test_a_watched_repository_is_known_as_it_changes(
    start: Callable[..., subprocess.Popen[str]], sylk: Sylk, repo: Path
) -> None:
    watching = start("index", repo, "--watch", "--json")
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["files"] == 8
    (repo / "jar/late.py").write_text("def zebra_crossing(): pass\n")
    assert json.loads(watching.stdout.readline())["added"] == 1
    # The watcher owns what is known, and answers.
    found = _json(sylk("search", "zebra", "--repo", repo, "--json", "--no-refresh"))
    assert found["results"][0]["path"] == "jar/late.py"
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=20) == 0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_indexing_that_is_interrupted_says_so(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, ending: signal.Signals, options: list[str]
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(400):
        (many / f"m{number}.py").write_text("".join(f"def f{number}_{each}(): pass\n" for each in range(40)))
    indexing = start("index", many, *options)
    assert indexing.stderr is not None
    assert "many: " in indexing.stderr.readline()
    indexing.send_signal(ending)
    output, errors = indexing.communicate(timeout=60)
    assert indexing.returncode == 130
    if options:
        assert json.loads(output)["error"] == {
            "code": "interrupted", "message": "interrupted", "hint": "", "exit_code": 130,
        }  # fmt: skip
    else:
        assert (output, errors.splitlines()[-1]) == ("", "interrupted")


def test_a_search_loads_nothing_that_it_does_not_need(repo, home) -> None:
    arguments = ["search", "cookie", "--repo", str(repo), "--home", str(home)]
    unneeded = ["ray", "fastapi", "uvicorn", "torch", "httpx", "rich", "sylk_ray.messaging", "sylk_ray.cli.submit"]
    program = (
        f"import sys; from sylk_ray.cli.app import run; code = run({arguments});"
        f"print(code, [each for each in {unneeded} if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_graphs_are_drawn_with_any_name() -> None:
    edge = Dependency(source='a"b', target="c\\d", how="calls", confidence=1.0, depth=1)
    found = DependencyGraph(name="x", reverse=False, roots=['a"b'], edges=[edge])
    assert '  "a\\"b" -> "c\\\\d" [label=calls];' in as_dot(found)
    assert as_mermaid(found) == ["graph LR", '  n0["a#quot;b"]', '  n1["c\\d"]', "  n0 -->|calls| n1"]
