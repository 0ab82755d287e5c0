"""What a model can do in a worktree, and what it cannot."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from sylk_ray.thinking import IN_A_WORKTREE, Bench, Toolbox, searching
from sylk_ray.thinking.toolbox import LONGEST
from sylk_ray.thinking.worktree import SHORT
from sylk_ray.tools import ActionFailed, ConfinementUnavailable
from tests.unit.tools.conftest import unconfinable

EVERYTHING = frozenset({"filesystem.read", "filesystem.write", "shell"})


@pytest.fixture
def use(context) -> Any:
    toolbox = Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context))

    async def call(name: str, /, **arguments: Any) -> Any:
        return await toolbox.use(name, arguments)

    return call


async def test_files_are_written_read_edited_listed_and_deleted(use, worktree):
    assert not (await use("write_file", path="a/b.py", content="x = 1\ny = 2\n")).failed
    assert (await use("read_file", path="a/b.py")).text == "    1 x = 1\n    2 y = 2"
    assert not (await use("edit_file", path="a/b.py", old="y = 2", new="y = 3")).failed
    assert (worktree / "a/b.py").read_text() == "x = 1\ny = 3\n"
    assert (await use("list_files", pattern="**/*.py")).text == "a/b.py"
    assert (await use("search_files", pattern=r"y\s*=")).text == "a/b.py:2: y = 3"
    assert not (await use("delete_file", path="a/b.py")).failed
    assert (await use("list_files")).text == "there are none"


async def test_what_is_added_comes_after_what_is_there(use, worktree):
    (worktree / "a.py").write_text("x = 1")
    assert (await use("append_to_file", path="a.py", content="y = 2")).text == "edited a.py"
    assert (await use("append_to_file", path="a.py", content="\nz = 3\n")).text == "edited a.py"
    assert (worktree / "a.py").read_text() == "x = 1\ny = 2\n\nz = 3\n"
    again = await use("append_to_file", path="a.py", content="z = 3")
    assert (again.failed, "nothing is added: a.py ends with that already" in again.text) == (True, True)
    (worktree / "empty.py").write_text("")
    assert not (await use("append_to_file", path="empty.py", content="x = 1")).failed
    assert (worktree / "empty.py").read_text() == "x = 1\n"
    assert "there is no file new.py" in (await use("append_to_file", path="new.py", content="x")).text


async def test_a_short_file_is_shown_whole_whatever_is_asked_for(use, worktree):
    for name, count in (("short", SHORT), ("long", SHORT + 1)):
        (worktree / f"{name}.txt").write_text("".join(f"line {n}\n" for n in range(1, count + 1)))
    for given in ({"from_line": 3, "to_line": 5}, {"from_line": 500}):
        assert len((await use("read_file", path="short.txt", **given)).text.splitlines()) == SHORT
    part = (await use("read_file", path="long.txt", from_line=3, to_line=5)).text
    assert part.splitlines()[::3] == ["    3 line 3", f"... {SHORT - 4} more lines; ask for from_line=6"]
    assert (await use("read_file", path="long.txt", from_line=500)).failed


async def test_what_is_added_takes_the_line_endings_of_the_file_and_others_stay(use, worktree):
    (worktree / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    assert not (await use("append_to_file", path="a.txt", content="three\nfour")).failed
    assert (worktree / "a.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\nfour\r\n"
    (worktree / "b.txt").write_bytes(b"one\ntwo")
    assert not (await use("append_to_file", path="b.txt", content="three")).failed
    assert (worktree / "b.txt").read_bytes() == b"one\ntwo\nthree\n"
    (worktree / "mixed.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    assert not (await use("replace_in_files", old="three", new="four", files="mixed.txt")).failed
    assert (worktree / "mixed.txt").read_bytes() == b"one\r\ntwo\nfour\r\n"


async def test_a_name_is_replaced_wherever_it_stands_as_a_whole_word(use, worktree):
    (worktree / "a.py").write_text("total(1)\nsubtotal = total_2 = total\n")
    (worktree / "b.md").write_text("the total: `total`.\n")
    (worktree / "image.png").write_bytes(b"total\0")
    done = await use("replace_in_files", old="total", new="sum_up", files="*.py")
    assert done.text == "edited a.py, 2 times\n'total' still stands in b.md: leave files out to replace it there too"
    assert (worktree / "a.py").read_text() == "sum_up(1)\nsubtotal = total_2 = sum_up\n"
    assert (await use("replace_in_files", old="the total: `", new=r"\1`")).text == "edited b.md, 1 times"
    assert (worktree / "b.md").read_text() == r"\1`total`." + "\n"
    assert (worktree / "image.png").read_bytes() == b"total\0"
    nowhere = await use("replace_in_files", old="nowhere", new="x")
    assert (nowhere.failed, nowhere.text.splitlines()[0]) == (True, "nothing is changed: 'nowhere' stands nowhere")
    elsewhere = await use("replace_in_files", old="sum_up", new="x", files="*.md")
    assert (elsewhere.failed, "'sum_up' still stands in a.py: leave" in elsewhere.text) == (True, True)


async def test_several_globs_may_be_given_at_once(use, worktree):
    for name in ("a.py", "b.md", "c d.txt", "e.rs"):
        (worktree / name).write_text("total\n")
    assert (await use("list_files", pattern="*.py, *.md")).text == "a.py\nb.md"
    assert (await use("list_files", pattern="c d.txt")).text == "c d.txt"
    assert (await use("search_files", pattern="total", files="*.py *.rs")).text.count(":1: total") == 2
    done = await use("replace_in_files", old="total", new="sum", files="a.py,b.md")
    assert done.text.startswith("edited a.py, 1 times\nedited b.md, 1 times\n")
    for nowhere in (" , ", "docs/my a.py", "*.nothing, a.py"):
        assert (await use("list_files", pattern=nowhere)).text == "there are none"


async def test_a_file_that_is_written_as_it_is_has_not_changed(use, worktree):
    (worktree / "a.py").write_text("x = 1\n")
    for name, given in (("write_file", {"content": "x = 1\n"}), ("edit_file", {"old": "x = 1", "new": "x = 1"})):
        done = await use(name, path="a.py", **given)
        assert (done.failed, done.text.startswith("nothing is changed: ")) == (True, True)
        assert "allow_no_change" not in done.text


async def test_nothing_is_replaced_where_one_of_the_files_may_not_be_written(context, worktree):
    (worktree / "a.py").write_text("x = 1\n")
    (worktree / "test_a.py").write_text("x = 1\n")
    bench = Bench(context, lambda path: "" if path.startswith("test_") else "it is no test")
    done = await Toolbox(IN_A_WORKTREE, EVERYTHING, bench).use("replace_in_files", {"old": "x", "new": "y"})
    assert (done.failed, "it is no test" in done.text) == (True, True)
    assert (worktree / "test_a.py").read_text() == "x = 1\n"


async def test_a_file_is_not_written_anew_without_most_of_what_it_has(use, worktree):
    lines = [f"line_{n} = {n}\n" for n in range(10)]
    (worktree / "a.py").write_text("".join(lines))
    refused = await use("write_file", path="a.py", content="new = 1\n")
    assert refused.failed
    assert "10 of the 10 lines of a.py would be gone, the first of them 'line_0 = 0'" in refused.text
    assert "append_to_file adds to a file" in refused.text
    assert (worktree / "a.py").read_text() == "".join(lines)
    assert not (await use("write_file", path="a.py", content="".join([*lines[:5], "new = 1\n"]))).failed
    (worktree / "small.py").write_text("x = 1\n")
    assert not (await use("write_file", path="small.py", content="y = 2\n")).failed


async def test_line_numbers_that_a_model_took_over_are_not_written(use, worktree):
    (worktree / "a.py").write_text("x = 1\n\ny = 2\n")
    shown = (await use("read_file", path="a.py")).text
    assert not (await use("write_file", path="b.py", content=shown)).failed
    assert (worktree / "b.py").read_text() == "x = 1\n\ny = 2"
    assert not (await use("edit_file", path="a.py", old="    3 y = 2", new="    3 y = 3")).failed
    assert (worktree / "a.py").read_text() == "x = 1\n\ny = 3\n"


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [("a.py", "def f(:\n", "line 1: "), ("a.json", "{", "line 1 column 2"), ("a.toml", "= 1", "at line 1, column 1")],
)
async def test_what_cannot_be_read_any_more_is_told_at_once(use, path, content, told):
    done = await use("write_file", path=path, content=content)
    assert not done.failed
    assert "but now it cannot be read: " in done.text
    assert told in done.text


async def test_a_definition_that_is_added_beside_the_one_that_there_is_is_told_once(use, worktree):
    (worktree / "a.py").write_text("def a():\n    return 1\n\n\ndef b(): ...\ndef b(): ...\n")
    done = await use("append_to_file", path="a.py", content="x = 1\ndef a():\n    return 2\n")
    assert done.text.endswith("but now a is defined twice, in lines 1 and 8: change the first and remove the other")
    again = await use("edit_file", path="a.py", old="return 2", new="return 3")
    assert "twice" not in again.text


async def test_a_definition_that_is_added_anew_takes_the_place_of_the_one_that_there_is(use, worktree):
    (worktree / "a.py").write_text("def a():\n    return 1\n\n\nx = 1\n")
    done = await use("append_to_file", path="a.py", content="def a():\n    return 2\n")
    assert done.text == "what had the same name is replaced: edited a.py"
    assert (worktree / "a.py").read_text() == "def a():\n    return 2\n\n\nx = 1\n"


async def test_who_only_adds_replaces_nothing(context, worktree):
    (worktree / "a.py").write_text("def a():\n    return 1\n")
    toolbox = Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context, only_adds=True))
    done = await toolbox.use("append_to_file", {"path": "a.py", "content": "def b(): ...\ndef a(): ...\n"})
    assert done.text.startswith("nothing is added: a.py has a already, and it stays as it is")
    shadowing = await toolbox.use("append_to_file", {"path": "a.py", "content": "import x\n@x.y\ndef a(): ...\n"})
    assert shadowing.text.startswith("nothing is added: a.py has a already")
    absent = await toolbox.use("edit_file", {"path": "a.py", "old": "a(1)", "new": "a(2)"})
    assert "append_to_file" not in absent.text
    assert (worktree / "a.py").read_text() == "def a():\n    return 1\n"


async def test_what_was_there_is_no_copy(context, worktree):
    (worktree / "a.py").write_text("class Client: ...\n")
    toolbox = Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context, defined_elsewhere={"Client": "client.py", "f": "f.py"}))
    assert not (await toolbox.use("write_file", {"path": "a.py", "content": "class Client:\n    x = 1\n"})).failed
    refused = await toolbox.use("write_file", {"path": "b.py", "content": "def f(): ...\n"})
    assert refused.text.startswith("nothing is written: f is defined in f.py")


async def test_a_test_that_does_not_import_what_it_calls_is_told_so_once(context, worktree):
    toolbox = Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context, defined_elsewhere={"f": "f.py", "g": "g.py"}))
    one, two = "def test_one():\n    f(g=1)\n", "def test_two(g):\n    g(f)\n"
    added = await toolbox.use("write_file", {"path": "test_a.py", "content": one})
    assert added.text == "wrote test_a.py\nbut now it uses f, and does not import it from f.py"
    assert "import" not in (await toolbox.use("append_to_file", {"path": "test_a.py", "content": two})).text
    for line in ("from f import f", "import x.y as f", "from f import *", "f = 1"):
        imported = await toolbox.use("write_file", {"path": "test_b.py", "content": f"{line}\n\n\n{one}"})
        assert "import" not in imported.text, line


async def test_lines_of_a_windows_file_are_taken_out_whole(use, worktree):
    (worktree / "a.py").write_bytes(b"a = 1\r\nb = 2\r\nc = 3\r\n")
    await use("edit_file", path="a.py", old="a = 1\nb = 2\n", new="")
    assert (worktree / "a.py").read_bytes() == b"c = 3\r\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_text_that_is_indented_otherwise_is_the_one_that_there_is(use, worktree, end):
    text = "class A:\n    def a(self):\n        return 1\n\n    x = 1\n"
    (worktree / "a.py").write_text(text, newline=end)
    done = await use("edit_file", path="a.py", old="def a(self):\n    return 1\n", new="def a(self):\n    return 2\n")
    assert not done.failed
    assert (worktree / "a.py").read_bytes().decode() == text.replace("1", "2", 1).replace("\n", end)


async def test_of_a_function_that_is_given_whole_for_its_first_line_no_dead_rest_is_left(use, worktree):
    (worktree / "a.py").write_text("def a():\n    return 1\n\n\nx = 1\n")
    done = await use("edit_file", path="a.py", old="def a():", new="def a():\n    return 2")
    assert done.text == "edited a.py"
    assert (worktree / "a.py").read_text() == "def a():\n    return 2\n\n\nx = 1\n"


async def test_a_text_that_is_not_there_is_told_what_is_most_like_it(use, worktree):
    (worktree / "a.py").write_text("import x\n\n\ndef mean(prices):\n    return total(prices) // len(prices)\n")
    done = await use("edit_file", path="a.py", old="mean([])", new="mean([]) == 0")
    assert done.failed
    assert done.text.endswith(
        "It has to be in the file word for word, spaces too. The nearest is:\n"
        "    4 def mean(prices):\n    5     return total(prices) // len(prices)\n"
        "Or call append_to_file with all of mean as it is to be: it takes the place of this one."
    )
    far = await use("edit_file", path="a.py", old="zzz qqq ~~~", new="x")
    assert far.failed
    assert "nearest" not in far.text
    (worktree / "b.py").write_text("a = 1\na = 1\n")
    twice = await use("edit_file", path="b.py", old="a = 1", new="a = 2")
    assert twice.failed
    assert "nearest" not in twice.text


async def test_what_is_still_there_in_another_way_or_others_define_themselves_is_not_told(use, worktree):
    (worktree / "a.py").write_text("def a(): ...\n\n\ndef main(): ...\n\n\ndef b(): ...\n")
    (worktree / "c.py").write_text("from a import a, b\n\n\ndef main():\n    a()\n")
    for old, new in (
        ("def a(): ...", "from x import a"),
        ("def main(): ...", "def other(): ..."),
        ("def b(): ...", "try:\n    b = None\nexcept E:\n    pass"),
    ):
        done = await use("edit_file", path="a.py", old=old, new=new)
        assert "any more" not in done.text, old


async def test_what_others_use_and_is_no_longer_defined_is_told(use, worktree):
    (worktree / "a.py").write_text("def a():\n    return 1\n\n\ndef b():\n    return 2\n")
    (worktree / "c.py").write_text("from a import a\n")
    done = await use("edit_file", path="a.py", old="def a", new="def a_b")
    assert "but now a is not defined there any more, and c.py uses it: call it a again" in done.text
    alone = await use("edit_file", path="a.py", old="def b", new="def c_d")
    assert "any more" not in alone.text
    (worktree / "c.py").write_text("from a import a_b\n")
    both = await use("replace_in_files", old="a_b", new="a", files="a.py")
    assert "any more" not in both.text
    assert "'a_b' still stands in c.py" in both.text


async def test_a_long_file_is_read_in_parts(use, worktree):
    (worktree / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    first = (await use("read_file", path="long.txt")).text
    assert first.endswith("... 600 more lines; ask for from_line=401")
    assert (await use("read_file", path="long.txt", from_line=999)).text == "  999 line 999\n 1000 line 1000"
    assert (await use("read_file", path="long.txt", from_line=999, to_line=5)).text == "  999 line 999\n 1000 line 1000"
    assert (await use("read_file", path="long.txt", from_line=1001)).failed


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", ".git/config", "a/../../secret", "link/secret"])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file", "delete_file"])
async def test_nothing_beyond_the_worktree_is_read_or_written(use, worktree, tmp_path, tool, path):
    (tmp_path / "secret").write_text("hidden words")
    (worktree / "link").symlink_to(tmp_path)
    given = {"write_file": {"content": "x"}, "edit_file": {"old": "hidden", "new": "x"}}.get(tool, {})
    answer = await use(tool, path=path, **given)
    assert answer.failed
    assert "hidden" not in answer.text
    assert (tmp_path / "secret").read_text() == "hidden words"


async def test_a_search_that_was_not_done_is_not_one_that_found_nothing(context, worktree, monkeypatch):
    (worktree / "a.py").write_text("x = 1\n")
    with pytest.raises(ActionFailed, match=r"exit code 1(?s:.*)unterminated subpattern"):
        await searching.lines_matching(context, "(", ["a.py"])
    unconfinable(monkeypatch)
    with pytest.raises(ConfinementUnavailable, match="No such file or directory: '/no/such/folder'"):
        await searching.lines_matching(context, "(x)", ["a.py"])


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        *((each, True) for each in ("x", r"def total\(", "^x$", "[ab]x|y", r"\.py\b", r"\\", "import.os")),
        *((each, False) for each in ("x+", "a.*b", "(x)", "(?i)x", "x?", "x{3}", r"\1", r"\\1+", "x" * 101)),
    ],
)
def test_what_cannot_take_long_is_looked_for_without_a_process(pattern, plain):
    assert searching.is_plain(pattern) is plain


async def test_a_process_finds_the_same(context, worktree, tmp_path, monkeypatch):
    files: dict[str, bytes] = {
        "a.py": b"total = 1\r\n\n  subtotal = 2\n",
        "latin.txt": b"total \xe9\n",
        "binary": b"\0 total\n",
        "folder/un\nusual \xff.txt".encode("latin-1").decode("utf-8", "surrogateescape"): b"a\x0ctotal\n" * 120,
    }
    (worktree / "folder").mkdir()
    for name, data in files.items():
        (worktree / name).write_bytes(data)
    (tmp_path / "secret").write_text("total\n")
    (worktree / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(worktree / "pipe")
    (worktree / "within").symlink_to("folder/../a.py")
    (worktree / "system").symlink_to("/etc/services")
    (worktree / "large").write_bytes(b"total\n" * 800_000)
    names = ["within", "system", "large", *files, "link", "gone", "folder", "pipe"]
    here = await searching.lines_matching(context, "total|tcp", names)
    assert here[:2] == ["within:1: total = 1", "within:3: subtotal = 2"]
    del here[:2]
    assert here[:3] == ["a.py:1: total = 1", "a.py:3: subtotal = 2", "latin.txt:1: total \ufffd"]
    assert (here[-1], len(here)) == ("... and more: ask more narrowly", 99)
    monkeypatch.setattr(searching, "AT_ONCE_BYTES", 8)
    there = await searching.lines_matching(context, "total|tcp", names)
    assert "\n".join(there[2:]) == "\n".join(here)


async def test_a_long_line_is_looked_through_by_a_process(context, worktree, monkeypatch):
    (worktree / "min.js").write_text("x" * 20_000 + "\n")
    asked: list[str] = []

    async def by_a_process(tools: Any, pattern: str, paths: Any) -> list[str]:
        asked.append(pattern)
        return []

    monkeypatch.setattr(searching, "_by_a_process", by_a_process)
    for length in (10, 50, 51, 90):
        await searching.lines_matching(context, "y" * length, ["min.js"])
    assert [len(each) for each in asked] == [51, 90]


async def test_a_command_runs_in_the_worktree_and_writes_nowhere_else(use, worktree, tmp_path):
    done = await use("run_command", command="pwd; echo x > here; exit 3")
    assert done.text == f"exit code 3\n{worktree}"
    assert (worktree / "here").exists()
    await use("run_command", command=f"echo x > {tmp_path}/there")
    assert not (tmp_path / "there").exists()


async def test_a_command_has_none_of_our_environment(use, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    answer = await use("run_command", command="env; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "sk-secret" not in answer.text


async def test_a_refused_command_is_not_run(use, worktree):
    answer = await use("run_command", command="touch x; sudo ls")
    assert answer.failed
    assert "sudo is not run" in answer.text
    assert not (worktree / "x").exists()


async def test_a_command_that_takes_too_long_is_ended(use):
    assert "killed by its timeout limit" in (await use("run_command", command="sleep 60", timeout_s=0.5)).text


async def test_a_flood_of_output_is_bounded(use):
    answer = await use("run_command", command="yes | head -c 20000000")
    assert len(answer.text) < LONGEST + 200


async def test_what_the_role_may_not_write_it_does_not(context, worktree):
    def only_new(path: str) -> str:
        return "it is there already" if (worktree / path).exists() else ""

    toolbox = Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context, only_new))
    (worktree / "old.py").write_text("x = 1\n")
    assert not (await toolbox.use("write_file", {"path": "new.py", "content": "y\n"})).failed
    for name, given in [("write_file", {"content": ""}), ("edit_file", {"old": "x", "new": "y"}), ("delete_file", {})]:
        answer = await toolbox.use(name, {"path": "old.py", **given})
        assert "it is there already" in answer.text
    assert (worktree / "old.py").read_text() == "x = 1\n"


async def test_files_that_are_no_text_are_told(use, worktree):
    (worktree / "x.bin").write_bytes(os.urandom(2000) + b"\0")
    assert "is not text" in (await use("read_file", path="x.bin")).text
    (worktree / "empty.py").write_text("")
    assert (await use("read_file", path="empty.py")).text == "(the file is empty)"
    assert (await use("search_files", pattern="(")).failed
    assert (await use("search_files", pattern="zzz")).text == "no line matches"


async def test_tools_are_described_for_a_model(context):
    tools = {tool.name: tool for tool in Toolbox(IN_A_WORKTREE, EVERYTHING, Bench(context)).offered()}
    assert set(tools) == {
        "read_file", "list_files", "search_files", "write_file", "append_to_file", "edit_file", "replace_in_files",
        "delete_file", "run_command"
    }  # fmt: skip
    assert tools["read_file"].parameters["required"] == ["path"]
    assert all(tool.description for tool in tools.values())
    assert all(field.get("description") for tool in tools.values() for field in tool.parameters["properties"].values())


def test_reading_alone_is_what_a_role_without_more_is_offered() -> None:
    offered = Toolbox(IN_A_WORKTREE, frozenset({"filesystem.read"})).offered()
    assert [tool.name for tool in offered] == ["read_file", "list_files", "search_files"]


async def test_an_expression_that_takes_for_ever_is_ended_and_holds_nothing_up(use, worktree, monkeypatch):
    monkeypatch.setattr(searching, "PATIENCE_S", 1.0)
    (worktree / "x.txt").write_text("a" * 40 + "\n")
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.05)
            beats += 1

    beating = asyncio.create_task(beat())
    answer = await use("search_files", pattern="(a+)+$b")
    beating.cancel()
    assert answer.failed
    assert "took longer" in answer.text
    assert beats >= 5


async def test_nothing_is_found_through_a_link_that_leads_out(use, worktree, tmp_path):
    (tmp_path / "secret.txt").write_text("hidden words")
    (worktree / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert (await use("search_files", pattern="hidden")).text == "no line matches"
