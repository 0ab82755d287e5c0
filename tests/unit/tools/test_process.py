from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sylk_ray.tools import (
    ActionFailed,
    ChangedFile,
    CheckFailed,
    ToolContext,
    ToolMissing,
    confine,
    find_tool_processes,
    inspect,
    kill_tool_processes,
    perform,
)
from sylk_ray.tools.processes import process_table
from sylk_ray.tools.specs import Check, Inspection, Limits, Run, Sandbox

from .conftest import MakeContext

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
"""

_FORKS = "import os, time\nfor _ in range(12):\n    try: {}\n    except OSError: pass\ntime.sleep(60)"
FORK_BOMBS = [_FORKS.format(each) for each in ("os.fork()", "os.fork() == 0 and os.setsid()")]
"""Of 4,096 processes, which a machine survives where they are not stopped."""


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def alive(context: ToolContext) -> list[str]:
    return [each.command for each in find_tool_processes(context.run_id)]


async def test_both_streams_and_the_exit_code_come_back(context: ToolContext) -> None:
    result = await context.run("echo out; echo err >&2; exit 3")

    assert (result.exit_code, result.output, result.killed_by) == (3, "out\nerr\n", None)
    assert result.output_path is not None
    assert result.output_path.read_text() == "out\nerr\n"


async def test_a_list_is_executed_as_it_is(context: ToolContext) -> None:
    result = await context.run(["printf", "%s", "$HOME; a b"])

    assert result.output == "$HOME; a b"


async def test_standard_input_is_empty(context: ToolContext) -> None:
    result = await context.run("cat; echo end")

    assert result.output == "end\n"


async def test_a_hanging_command_is_killed_with_all_its_children(make_context: MakeContext) -> None:
    context = make_context(limits=Limits(timeout_s=0.5))
    code = DAEMON + "import subprocess; subprocess.Popen(['sleep', '1000']); time.sleep(1000)"

    result = await context.run(python(code))

    assert result.killed_by == "timeout"
    assert "daemon" in result.output
    assert alive(context) == []


async def test_a_command_that_ignores_sigterm_is_killed(make_context: MakeContext) -> None:
    context = make_context(limits=Limits(timeout_s=0.3))
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)"

    result = await context.run(python(code))

    assert (result.killed_by, result.exit_code) == ("timeout", -9)


async def test_background_children_do_not_outlive_a_normal_exit(context: ToolContext) -> None:
    result = await context.run([*python(DAEMON)])

    assert (result.exit_code, result.killed_by) == (0, None)
    assert result.output.startswith("daemon")
    assert alive(context) == []
    assert int(result.output.split()[1]) not in process_table()


async def test_a_child_that_cleared_its_environment_is_killed_with_its_session(context: ToolContext) -> None:
    result = await context.run("env -i sleep 1000 & echo $!")

    assert int(result.output) not in process_table()


async def test_a_daemon_that_hid_in_all_ways_is_killed(context: ToolContext) -> None:
    """In a session of its own, without its parents, and without the marker in its environment."""
    hide = 'exec env -i setsid sh -c "(trap : TERM; echo \\$\\$ > pid; while :; do sleep 1; done) &"'

    result = await context.run(f"({hide}) & while [ ! -s pid ]; do sleep 0.01; done; exit 3")

    assert result.exit_code == 3
    assert int((context.worktree / "pid").read_text()) not in process_table()


def test_when_who_asked_is_killed_nothing_is_left_either(tmp_path: Path) -> None:
    """Also of what nobody could find afterwards: it has neither the marker nor its parents."""
    (tmp_path / "hide.sh").write_text("trap : TERM\necho $$ > pid\nwhile :; do sleep 1; done\n")
    (tmp_path / "tool.sh").write_text("(env -i setsid /bin/sh hide.sh &)\nsleep 1000\n")
    asking = (
        "import os, subprocess, sys\n"
        f"command = [sys.executable, '-I', '-S', {confine.__file__!r}, f'--parent={{os.getpid()}}', '--']\n"
        "subprocess.run([*command, '/bin/sh', 'tool.sh'])"
    )
    until = time.monotonic() + 20
    asked = subprocess.Popen([sys.executable, "-I", "-c", asking], cwd=tmp_path)
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < until
            time.sleep(0.01)
        pid = int((tmp_path / "pid").read_text())
        assert pid in process_table()
    finally:
        asked.kill()
        asked.wait()
    while pid in process_table():
        assert time.monotonic() < until
        time.sleep(0.01)


async def test_a_program_cannot_end_what_watches_over_it(context: ToolContext) -> None:
    result = await context.run("kill -9 $PPID; sleep 0.1; echo still here")

    assert "ermitted" in result.output
    assert result.output.endswith("still here\n")


@pytest.mark.parametrize("code", FORK_BOMBS)
async def test_a_fork_bomb_is_killed(make_context: MakeContext, code: str) -> None:
    context = make_context(limits=Limits(timeout_s=60, processes=32))

    result = await context.run(python(code))

    assert result.killed_by == "processes"
    assert alive(context) == []


async def test_too_many_processes_are_counted_where_the_kernel_does_not(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["sylk_ray.tools.process"], "make_group", lambda most: None)
    context = make_context(limits=Limits(timeout_s=30, processes=20))

    result = await context.run("i=0; while [ $i -lt 40 ]; do sleep 100 & i=$((i+1)); done; wait")

    assert (result.killed_by, alive(context)) == ("processes", [])


def test_an_ordinary_users_processes_are_bounded_by_the_kernel() -> None:
    """In a user namespace of the run's own, so that the person's other processes do not count."""
    bound = ["--isolate", "--processes=20", f"--parent={os.getpid()}"]
    script = "i=0; while [ $i -lt 40 ]; do sleep 100 & i=$((i+1)); done; echo all"
    command = ["/usr/bin/python3", "-I", "-S", "-c", Path(confine.__file__).read_text(), *bound, "--"]
    user = 54321 if os.geteuid() == 0 else None

    done = subprocess.run([*command, "/bin/sh", "-c", script], capture_output=True, text=True, user=user, check=False)

    assert "ork" in done.stderr
    assert "all" not in done.stdout


async def test_cancelling_while_it_starts_leaves_nothing_and_stays_a_cancellation(make_context: MakeContext) -> None:
    """Some milliseconds in, the launcher runs and has not started the program: what it is asked then holds as well."""
    for step in range(30):
        context = make_context()
        task = asyncio.create_task(context.run("sleep 985"))
        await asyncio.sleep(step * 0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert alive(context) == []


async def test_cancelling_kills_and_then_propagates(make_context: MakeContext) -> None:
    started = asyncio.Event()
    context = make_context(on_line=lambda _: started.set())
    task = asyncio.create_task(context.run(python(DAEMON + "time.sleep(1000)")))
    await started.wait()
    assert alive(context)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(context) == []


def test_a_loop_that_ends_with_no_thread_to_spare_leaves_nothing(context: ToolContext) -> None:
    """What looks for a run's processes and ends them waits for a thread then, and is cancelled before it has one."""
    hide = "trap : TERM; (env -i setsid /bin/sh -c 'trap : TERM; echo $$ > pid; while :; do sleep 1; done' &)"
    file = context.worktree / "pid"

    async def begin() -> None:
        loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        loop.set_default_executor(threads)
        running = asyncio.create_task(context.run(f"{hide}; while :; do sleep 1; done"))
        async with asyncio.timeout(20):
            while not file.exists() or not file.read_text():
                await asyncio.sleep(0.01)
        spare = threading.Event()
        threads.submit(spare.wait)
        running.cancel()
        await asyncio.sleep(0.1)
        loop.call_later(1, spare.set)

    asyncio.run(begin())

    pid = int(file.read_text())
    left = pid in process_table()
    if left:
        os.kill(pid, signal.SIGKILL)
    assert not left


async def test_leftovers_are_found_and_killed_for_recovery(make_context: MakeContext) -> None:
    started = asyncio.Event()
    context = make_context(on_line=lambda _: started.set())
    task = asyncio.create_task(context.run("echo up; sleep 1000"))
    await started.wait()

    found = find_tool_processes(context.run_id[:-1])
    killed = await kill_tool_processes(context.run_id)

    assert {each.run_id for each in found} == {f"{context.run_id}@"}
    assert killed >= 1
    assert (await task).exit_code != 0


async def test_a_memory_hog_is_killed(make_context: MakeContext) -> None:
    context = make_context(limits=Limits(timeout_s=30, memory_mb=100))
    code = "import time\nheld = []\nwhile True: held.append(bytearray(8 << 20)); time.sleep(0.01)"

    result = await context.run(f"{shlex.join(python(code))} & wait")

    assert result.killed_by == "memory"


async def test_a_disk_filler_is_killed(make_context: MakeContext, worktree: Path) -> None:
    context = make_context(limits=Limits(timeout_s=30, disk_mb=8))
    code = "import itertools\nfor n in itertools.count(): open(f'f{n}', 'wb').write(bytes(1 << 19)); "

    result = await context.run(python(code + "import time; time.sleep(0.01)"))

    assert result.killed_by == "disk"
    assert sum(file.stat().st_size for file in worktree.glob("f*")) < 500 << 20


async def test_a_single_huge_file_is_stopped_by_the_kernel(make_context: MakeContext, worktree: Path) -> None:
    context = make_context(limits=Limits(timeout_s=30, disk_mb=4))

    result = await context.run("exec head -c 50000000 /dev/zero > huge")

    assert result.killed_by == "disk"
    assert (worktree / "huge").stat().st_size <= 4 << 20


async def test_a_flood_of_output_is_counted_and_dropped(make_context: MakeContext) -> None:
    context = make_context(limits=Limits(timeout_s=30, output_mb=1))

    result = await context.run("head -c 200000000 /dev/zero; echo; echo the end")

    assert result.output_path is not None
    assert result.output_path.stat().st_size == 1 << 20
    assert result.output_bytes == 200_000_009
    assert result.dropped_bytes == result.output_bytes - (1 << 20)
    assert result.output == "the end\n"
    assert len(result.output) < 70_000


async def test_output_that_cannot_be_kept_is_still_shown(context: ToolContext, monkeypatch) -> None:
    monkeypatch.setattr(ToolContext, "new_artifact", lambda *_: Path("/dev/full"))

    result = await context.run("echo why; exit 3")

    assert (result.exit_code, result.output) == (3, "why\n")
    assert result.output_problem == "No space left on device"
    with pytest.raises(ActionFailed, match="why") as failed:
        await perform(Run(command="echo why; exit 3"), context)
    assert "could not all be kept in /dev/full: No space left on device" in failed.value.hint
    check = Check(name="c", run="echo x")
    with pytest.raises(CheckFailed, match="No space left on device"):
        await inspect(Inspection(tools=(check,)), [ChangedFile("a", frozenset(), 1, 0)], context)


async def test_the_last_line_is_told_at_most_five_times_a_second(make_context: MakeContext) -> None:
    lines: list[str] = []
    context = make_context(on_line=lines.append)

    result = await context.run("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done; printf unfinished")

    assert lines[-1] == "2999"
    assert len(lines) <= 3 + result.duration_s * 5


async def test_secrets_of_the_host_are_not_in_the_environment(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("GRANTED", "given")
    monkeypatch.setenv("LC_TIME", "C")
    context = make_context(sandbox=Sandbox(env=("GRANTED", "NOT_SET")))

    result = await context.run("env")

    variables = dict(line.split("=", 1) for line in result.output.splitlines())
    assert "s3cret" not in result.output
    assert variables["GRANTED"] == "given"
    assert variables["SYLK_TOOL_RUN"] == f"{context.run_id}@"
    assert variables["TERM"] == "dumb"
    assert variables["LC_TIME"] == "C"
    assert all(variables[name].startswith(str(context.private_dir)) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"))
    assert not variables.keys() & {"VIRTUAL_ENV", "USER", "PYTEST_CURRENT_TEST", "SSH_AUTH_SOCK"}


async def test_the_hosts_environment_cannot_be_read_through_proc(context: ToolContext) -> None:
    result = await context.run(f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ")

    assert result.exit_code != 0
    assert "PATH=" not in result.output


async def test_a_missing_program_is_named_with_how_to_get_it(context: ToolContext) -> None:
    with pytest.raises(ToolMissing, match=r"'golangci-lint'.*not installed") as missing:
        await context.run(["golangci-lint", "run"])
    assert "golangci-lint.run" in missing.value.hint

    with pytest.raises(ToolMissing, match="'no-such-program'"):
        await context.run("no-such-program --version")
    with pytest.raises(ToolMissing, match=r"'\./tool'"):
        await context.run(["./tool"])


async def test_running_a_program_takes_little_more_than_the_program(context: ToolContext) -> None:
    await context.run(["true"])
    started = time.perf_counter()

    await context.run(["true"])

    assert time.perf_counter() - started < 0.5
