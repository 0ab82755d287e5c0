from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.tools import Confinement, ConfinementUnavailable, ToolContext, confine, confinement
from sylk_ray.tools.confine import handled_rights, join
from sylk_ray.tools.confinement import launcher
from sylk_ray.tools.specs import Sandbox

from .conftest import MakeContext

LOCALHOST = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hello")
print(client.recv(5).decode())
"""
OUTSIDE = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
except OSError as error:
    print(error.errno)
"""
NETWORK_UNREACHABLE = "101\n"


def pretend(monkeypatch: pytest.MonkeyPatch, able: Confinement) -> None:
    monkeypatch.setattr(sys.modules["sylk_ray.tools.confinement"], "confinement", lambda: able)


def test_this_machine_can_confine() -> None:
    able = confinement()

    assert able.landlock_abi >= 1
    assert able.network
    assert able.problems == ()


async def test_writing_outside_of_the_worktree_is_refused_by_the_kernel(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("kept")
    inside = "echo a > new && mkdir d && mv new d/moved && echo b > $TMPDIR/x && echo c > /dev/null"

    refused = await context.run(f"echo x > {tmp_path}/theirs; rm -f {tmp_path}/theirs; mkdir {tmp_path}/d")
    allowed = await context.run(inside)

    assert refused.exit_code != 0
    assert refused.output.count("ermission denied") == 3
    assert (tmp_path / "theirs").read_text() == "kept"
    assert (allowed.exit_code, allowed.output) == (0, "")
    assert (context.worktree / "d/moved").read_text() == "a\n"


async def test_the_repository_of_the_worktree_cannot_be_written(context: ToolContext) -> None:
    result = await context.run("git status --short && git commit --allow-empty -m x")

    assert result.exit_code != 0
    assert "ermission denied" in result.output


async def test_a_granted_folder_can_be_written(make_context: MakeContext, tmp_path: Path) -> None:
    granted = tmp_path / "granted"
    granted.mkdir()
    context = make_context(sandbox=Sandbox(write=(str(granted),)))

    result = await context.run(f"echo yes > {granted}/file")

    assert result.exit_code == 0
    assert (granted / "file").read_text() == "yes\n"


async def test_granting_a_folder_that_is_not_there_is_an_error(make_context: MakeContext) -> None:
    context = make_context(sandbox=Sandbox(write=("/no/such/folder",)))

    with pytest.raises(InputError, match="/no/such/folder"):
        await context.run("true")


async def test_there_is_no_network_but_localhost(context: ToolContext) -> None:
    localhost = await context.run([sys.executable, "-c", LOCALHOST])
    outside = await context.run([sys.executable, "-c", OUTSIDE])

    assert localhost.output == "hello\n"
    assert outside.output == NETWORK_UNREACHABLE


async def test_the_network_can_be_granted(make_context: MakeContext) -> None:
    isolated = make_context()
    granted = make_context(sandbox=Sandbox(network=True))

    own = await isolated.run("readlink /proc/self/ns/net")
    shared = await granted.run("readlink /proc/self/ns/net")

    assert shared.output.strip() == str(Path("/proc/self/ns/net").readlink())
    assert own.output != shared.output


async def test_a_tool_keeps_its_user_and_cannot_signal_the_host(context: ToolContext) -> None:
    result = await context.run(f"id -u; kill -0 {os.getpid()} || echo refused")

    lines = result.output.splitlines()
    assert lines[0] == str(os.getuid())
    assert lines[-1] == "refused"


@pytest.mark.parametrize(
    "able", [Confinement(0, True, ("Landlock: no",)), Confinement(7, False, ("network isolation: no",))]
)
async def test_nothing_runs_unconfined_by_accident(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch, able: Confinement
) -> None:
    pretend(monkeypatch, able)

    with pytest.raises(ConfinementUnavailable, match=able.problems[0]) as refused:
        await context.run("touch ran")

    assert "SYLK_UNCONFINED=1" in refused.value.hint
    assert not (context.worktree / "ran").exists()


async def test_a_person_may_choose_to_run_unconfined(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, Confinement(0, False, ("no",)))
    monkeypatch.setenv("SYLK_UNCONFINED", "1")

    result = await context.run(f"touch {tmp_path}/ran")

    assert result.exit_code == 0
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("abi", "rights"), [(1, 0x1FF2), (2, 0x3FF2), (3, 0x7FF2), (4, 0x7FF2), (5, 0xFFF2), (7, 0xFFF2)]
)
def test_each_landlock_version_is_asked_only_for_what_it_knows(abi: int, rights: int) -> None:
    assert handled_rights(abi) == rights


async def test_the_runtimes_own_secrets_and_other_sessions_cannot_be_read(
    make_context: MakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "state of sylk"
    mine, others = home / "sessions" / "mine", home / "sessions" / "others"
    for folder in (mine / "worktree", mine / "private", others):
        folder.mkdir(parents=True)
    (home / "token").write_text("verysecret")
    (others / "work.txt").write_text("theirs")
    (mine / "worktree" / "own.txt").write_text("mine")
    (tmp_path / "beside.txt").write_text("readable")
    monkeypatch.setenv("SYLK_HOME", str(home))
    grants = Sandbox(read=(str(tmp_path),))
    context = make_context(worktree=mine / "worktree", private_dir=mine / "private", sandbox=grants)
    result = await context.run(f"cat own.txt '{tmp_path}/beside.txt'; python3 -c 'import json; print(json.dumps(1))'")
    assert result.output.split() == ["minereadable1"]
    for secret in (home / "token", others / "work.txt"):
        result = await context.run(f"cat '{secret}'")
        assert result.exit_code != 0
        assert "verysecret" not in result.output
        assert "theirs" not in result.output


async def test_no_grant_opens_the_runtimes_own_secrets(
    make_context: MakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be written to can be read as a whole, and nothing be taken out of it."""
    home = tmp_path / "state"
    mine, others = home / "sessions" / "mine", home / "sessions" / "others"
    for folder in (mine / "worktree" / "build", mine / "private", others):
        folder.mkdir(parents=True)
    (home / "token").write_text("verysecret")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("SYLK_HOME", str(home))

    async def run(command: str, **grants: tuple[str, ...]) -> str:
        sandbox = Sandbox(**grants)
        context = make_context(worktree=mine / "worktree", private_dir=mine / "private", sandbox=sandbox)
        return (await context.run(command)).output

    for path in (tmp_path, home, tmp_path / "link", others, home / "token", Path("../../others")):
        with pytest.raises(InputError, match=rf"sandbox\.write grants .*, but no tool may read {home}"):
            await run(f"cat {home}/token", write=(str(path),))
    for path in (home, others, home / "token"):
        with pytest.raises(InputError, match=rf"sandbox\.read grants .*, but no tool may read {home}"):
            await run(f"cat {home}/token", read=(str(path),))
    assert await run("echo made > build/it && cat build/it", write=("build",), read=("build",)) == "made\n"
    assert "verysecret" not in await run(f"cat {home}/token", read=(str(tmp_path),))


def launched(*options: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
    """The launcher by itself: by a Python and from a text that any user can read."""
    launcher = ["/usr/bin/python3", "-I", "-S", "-c", Path(confine.__file__).read_text(), f"--parent={os.getpid()}"]
    system = [f"--read={folder}" for folder in ("/usr", "/bin", "/lib", "/lib64", "/etc") if Path(folder).exists()]
    command = [*launcher, "--landlock", *system, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", user=user)


def test_what_is_out_of_reach_takes_nothing_else_with_it() -> None:
    """Beside what is hidden all is allowed one by one; of that, some may be gone, or in a folder not to be entered."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for number in range(8):
            closed, open_ = folder / f"closed{number}", folder / f"open{number}"
            for each in (closed, closed / "hidden", closed / "not reached", open_):
                each.mkdir()
            (open_ / "file").write_text("read\n")
            closed.chmod(0o644)
        hide = [f"--hide={closed}/hidden" for closed in folder.glob("closed*")]
        files = [str(each / "file") for each in folder.glob("open*")]
        user = 54321 if os.geteuid() == 0 else None
        done = launched(*hide, f"--read={folder}", "--read=/no/such/folder", "--", "/bin/cat", *files, user=user)
        for closed in folder.glob("closed*"):
            closed.chmod(0o755)
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n" * 8, "")


def test_the_text_of_a_program_is_run_within_the_same_bounds() -> None:
    with tempfile.NamedTemporaryFile() as secret:
        Path(secret.name).chmod(0o644)
        text = f"import json; print(json.dumps([1])); open({secret.name!r})"
        done = launched("--python", "--", text)
    assert (done.returncode, done.stdout) == (1, "[1]\n")
    assert done.stderr.splitlines()[-1] == f"PermissionError: [Errno 13] Permission denied: {secret.name!r}"


@pytest.mark.parametrize("user", [None, 54321] if os.geteuid() == 0 else [None])
def test_the_text_of_a_program_has_no_more_powers_than_a_program(user: int | None) -> None:
    told = "/proc/self/status"
    text = f"print(*(line for line in open({told!r}) if line.startswith('Cap')), sep='', end='')"
    by_text = launched("--isolate", "--read=/proc", "--python", "--", text, user=user)
    by_program = launched("--isolate", "--read=/proc", "--", "/bin/grep", "^Cap", told, user=user)
    assert by_text.stdout == by_program.stdout
    assert len(by_text.stdout.splitlines()) == 5


@pytest.mark.parametrize(("ending", "code"), [("sys.exit()", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1)])
def test_the_text_of_a_program_ends_as_it_says(ending: str, code: int) -> None:
    done = launched("--python", "--", f"import sys; print('said'); {ending}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "said\n", "no\n" if code == 1 else "")


def test_what_was_compiled_of_another_text_is_not_started(
    context: ToolContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher that confines less, say, and was replaced."""
    here = tmp_path / "confine.py"
    here.write_text("def start():\n    print('of yesterday')\n")
    py_compile.compile(str(here), doraise=True)
    confinement()
    monkeypatch.setattr(confine, "__file__", str(here))
    for text, said in (("", "of yesterday"), (Path(confine.__spec__.origin or "").read_text(), "of today")):
        here.write_text(text or here.read_text())
        launcher.cache_clear()
        command = context.confined(["/bin/echo", "of today"])
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said
    monkeypatch.undo()
    launcher.cache_clear()


@pytest.mark.parametrize("there", [("tasks", "cgroup.procs"), ("cgroup.procs",)])
def test_a_control_group_is_joined_as_a_thread_where_that_is_cheaper(tmp_path: Path, there: tuple[str, ...]) -> None:
    for name in there:
        (tmp_path / name).write_text("")
    join(str(tmp_path))
    assert [name for name in there if (tmp_path / name).read_text() == "0"] == [there[0]]
    with pytest.raises(FileNotFoundError, match="is no control group"):
        join(str(tmp_path / "gone"))


def test_what_the_kernel_does_not_take_for_a_grant_is_told() -> None:
    done = launched("--read=/proc/self/ns/net", "--", "/bin/true")
    assert (done.returncode, "allow /proc/self/ns/net" in done.stderr) == (confine.FAILED, True)
