"""Start the given program confined, and leave no process of it: ``confine.py [options] -- program [arguments]``.

A program of its own, started with ``python -I -S``, because the process that wants a tool run has many
threads, and between fork and exec of such a process nothing but exec is safe. It imports little: its start is
part of the cost of every tool. Options: ``--parent=PID`` whose death ends the program, ``--file-mb=N`` the
largest file, ``--isolate`` no network but localhost, ``--landlock`` write only beneath each ``--write=PATH``, and read
only there and beneath each ``--read=PATH``, but for what is beneath a ``--hide=PATH``.
``--processes=N`` how many tasks, where those of an ordinary user are counted, ``--cgroup=PATH`` whose member to be.
With ``--python`` it is the text of a Python program, which the confined process runs itself instead of starting it.

This process stays as long as any process that the program has started, however they hide: it is who they belong to when
their own parents are gone. When the program has ended, it ends the others, and ends as the program did. It is not
confined itself, so that they cannot end it: from Landlock ABI 6 on (Linux 6.12, SCOPE_SIGNALS), for before that they
may signal whatever their user may.
``--probe`` prints what the kernel can do, and ends. Exit code 125 says that it could not confine.

Landlock: Linux, Documentation/userspace-api/landlock.rst.
"""

import ctypes
import os
import resource
import sys
import time
from _socket import AF_INET, SOCK_DGRAM, socket
from fcntl import ioctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # without the enumerations, which are slow to import

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
PREFIX = "sylk-confine: "
PYTHON = "--python"

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CAPABILITY_VERSION_3 = 0x20080522
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
# Of root's powers, those that reach around a file system sandbox: SYS_MODULE, SYS_RAWIO, SYS_PTRACE,
# SYS_ADMIN, SYS_BOOT, SYS_TIME, MKNOD, MAC_OVERRIDE, MAC_ADMIN, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE.
DROPPED_CAPABILITIES = (16, 17, 19, 21, 22, 25, 27, 32, 33, 34, 38, 39, 40)

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REMOVE_AND_MAKE = 0b1_1111_1111 << 4
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/proc/self",
)

ASKED_BY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2)
"""How this process is told to end: not before it can pass that on."""
MOMENT_S, GRACE_S = 0.1, 0.5
"""How long what the program has left may go on to its own end, and how long when it was asked to."""

CANNOT_BE_REACHED = (FileNotFoundError, NotADirectoryError, PermissionError)

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, doing: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: "int | bytes | None") -> int:
    longs = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return int(libc.syscall(ctypes.c_long(number), *longs))


def little(value: int, size: int) -> bytes:
    return value.to_bytes(size, sys.byteorder, signed=False)


def isolate_network() -> None:
    """A network of its own with nothing but ``lo``; an ordinary user needs a user namespace to make one."""
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0 or libc.unshare(CLONE_NEWNET) < 0:
        checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare user and network namespaces")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib is slow to import
                file.write(text)
    raise_loopback()


def raise_loopback() -> None:
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1
    control = socket(AF_INET, SOCK_DGRAM, 0)
    request = ioctl(control.fileno(), get_flags, b"lo".ljust(40, b"\0"))
    flags = int.from_bytes(request[16:18], sys.byteorder) | up
    ioctl(control.fileno(), set_flags, request[:16] + little(flags, 2) + request[18:])
    control.close()


def landlock_abi() -> int:
    """The kernel's Landlock version, or 0."""
    return max(0, syscall(CREATE_RULESET, None, 0, 1))


def handled_rights(abi: int) -> int:
    rights = WRITE_FILE | REMOVE_AND_MAKE
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if abi >= since:
            rights |= right
    return rights


def parts(path: str, hidden: "list[str]") -> "list[str]":
    """What is beneath a path and neither beneath nor above a hidden one: Landlock allows by list, and denies what is
    left."""
    inner = [each for each in hidden if each == path or each.startswith(path.rstrip("/") + "/")]
    if not inner:
        return [path]
    if path in inner:
        return []
    found: list[str] = []
    try:
        with os.scandir(path) as entries:
            # A symbolic link may lead to what is hidden; where others lead to is allowed by its own place.
            within = [entry.path for entry in entries if not entry.is_symlink()]
    except CANNOT_BE_REACHED:
        return []
    for each in within:
        found += parts(each, inner)
    return found


def restrict_files(writable: "list[str]", readable: "list[str]", hidden: "list[str]", isolated: bool) -> None:
    """From now on this process and its children write only beneath ``writable`` and to harmless devices, and read only
    there and what is beneath ``readable`` and not ``hidden``. Of folders with something hidden the names stay known."""
    abi = landlock_abi()
    handled = handled_rights(abi) | READ
    attributes = little(handled, 8)
    if abi >= 4:
        attributes += little(0, 8)
    if abi >= 6:
        attributes += little(SCOPE_SIGNALS | (SCOPE_ABSTRACT_SOCKETS if isolated else 0), 8)
    ruleset = checked(syscall(CREATE_RULESET, attributes, len(attributes), 0), "create a Landlock ruleset")
    for path in writable:
        allow(ruleset, path, handled & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV), needed=True)
    for path in DEVICES:
        allow(ruleset, path, handled & ~(MAKE_CHAR | MAKE_BLOCK))
    for path in readable:
        within = parts(path, hidden)
        if within and within != [path]:
            allow(ruleset, path, READ_DIR)
        for part in within:
            allow(ruleset, part, READ)
    checked(syscall(RESTRICT_SELF, ruleset, 0), "enforce the Landlock ruleset")
    os.close(ruleset)


def allow(ruleset: int, path: str, rights: int, needed: bool = False) -> None:
    """What is not needed may be gone meanwhile, lead nowhere, or be out of this user's reach: so it is out of the
    program's."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except CANNOT_BE_REACHED:
        if needed:
            raise
        return
    try:
        if not os.path.isdir(beneath):  # noqa: PTH112
            rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
        rule = little(rights, 8) + little(beneath, 4)
        checked(syscall(ADD_RULE, ruleset, 1, rule, 0), f"allow {path}")
    finally:
        os.close(beneath)


def give_up_privileges() -> None:
    if os.geteuid() == 0:
        for capability in DROPPED_CAPABILITIES:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs")


def give_up_held_privileges() -> None:
    """Now, what the start of another program would take: all that it would have been refused."""
    header = little(CAPABILITY_VERSION_3, 4) + little(0, 4)
    held = ctypes.create_string_buffer(24)
    checked(libc.capget(header, held), "get the capabilities")
    kept = (1 << 64) - 1 if os.geteuid() == 0 else 0
    for capability in DROPPED_CAPABILITIES:
        kept &= ~(1 << capability)
    words = [int.from_bytes(held.raw[at : at + 4], sys.byteorder) for at in range(0, 24, 4)]
    left = (word & (kept >> (32 * (at // 3))) & 0xFFFFFFFF for at, word in enumerate(words))
    checked(libc.capset(header, b"".join(little(word, 4) for word in left)), "give up capabilities")


def die_with(parent: int, number: int) -> None:
    checked(libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0), "set the parent death signal")
    if os.getppid() != parent:
        raise ProcessLookupError("the process that asked for this tool has ended")


def confine(options: "list[str]") -> None:
    paths: dict[str, list[str]] = {"--write": [], "--read": [], "--hide": []}
    landlock, isolate, python = False, False, False
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for option in options:
        name, _, value = option.partition("=")
        if name in paths:
            paths[name].append(value)
        elif name == "--file-mb":
            lower(resource.RLIMIT_FSIZE, int(value) << 20)
        elif name == "--processes":
            if os.geteuid() != 0:  # root's are not counted
                lower(resource.RLIMIT_NPROC, int(value))
        elif name == "--cgroup":
            join(value)
        elif name == "--isolate":
            isolate = True
        elif name == "--landlock":
            landlock = True
        elif name == PYTHON:
            python = True
        elif name != "--parent":
            raise ValueError(f"unknown option {option}")
    if isolate:
        isolate_network()
    give_up_privileges()
    if python:
        give_up_held_privileges()
    if landlock:
        restrict_files(paths["--write"], paths["--read"], paths["--hide"], isolate)


def join(group: str) -> None:
    """As a process of one thread, which version 1 takes as such: to move a whole process takes it some 15 ms."""
    for members in ("tasks", "cgroup.procs"):
        if os.path.exists(f"{group}/{members}"):  # noqa: PTH110
            with open(f"{group}/{members}", "w") as file:  # noqa: PTH123
                file.write("0")
            return
    raise FileNotFoundError(f"{group} is no control group")


def lower(what: int, limit: int) -> None:
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(what, (limit, limit))


def become(program: "list[str]", options: "list[str]", supervisor: int) -> int:
    """The program, confined; returns only if it could not be started."""
    try:
        os.setpgid(0, 0)
        confine(options)
        die_with(supervisor, signal.SIGKILL)  # last: a change of credentials clears it
    except (OSError, ValueError) as error:
        os.write(2, f"{PREFIX}{error}\n".encode(errors="surrogateescape"))
        return FAILED
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKED_BY)
    if PYTHON in options:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return run(program[0])
    try:
        os.execvp(program[0], program)
    except OSError as error:
        text = f"{PREFIX}cannot execute {program[0]}: {error.strerror}\n"
        os.write(2, text.encode(errors="surrogateescape"))
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def run(text: str) -> int:
    """Without the start of another Python, which takes longer than most of what such programs do."""
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        sys.stdout.flush()
    return 0


def outlive(child: int, parent: int) -> int:
    """Wait for the program, end what it has left, and return its wait status. When the parent ends, so does all."""
    grace_s = GRACE_S

    def forward(number: int, _: object) -> None:
        send(child, number)

    def end(_: int, __: object) -> None:
        nonlocal grace_s
        grace_s = 0.0
        send(child, signal.SIGKILL)

    for forwarded in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(forwarded, forward)
    signal.signal(signal.SIGUSR2, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKED_BY)
    try:
        die_with(parent, signal.SIGUSR2)
    except OSError:
        end(signal.SIGUSR2, None)
    status = -1
    while status == -1:
        pid, ended = os.wait()
        status = ended if pid == child else -1
    began, asked = time.monotonic(), set[int]()
    while left := remaining():
        waited = time.monotonic() - began
        if waited >= grace_s:
            for pid in left:
                send(pid, signal.SIGKILL)
        elif waited >= MOMENT_S:
            for pid in left - asked:
                send(pid, signal.SIGTERM)
            asked |= left
        time.sleep(0.005)
    return status


def remaining() -> "set[int]":
    """Children that live; those that have ended are reaped. What these have started becomes a child when they end."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return set()
    own, found = os.getpid(), set[int]()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    text = file.read()
            except OSError:
                continue
            if int(text[text.rindex(b")") + 2 :].split()[1]) == own:
                found.add(int(name))
    return found


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def end_as(status: int) -> int:
    """As the program ended: by its exit code, or by the same signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    return code


def probe() -> None:
    """Print what works, by trying it on this process, which ends right after."""
    try:
        isolate_network()
        print("network=1")
    except OSError as error:
        print(f"problem=network isolation: {error}")
    abi = landlock_abi()
    if abi == 0:
        print(f"problem=Landlock: {os.strerror(ctypes.get_errno())}")
        return
    try:
        give_up_privileges()
        restrict_files([], [], [], True)
        print(f"landlock={abi}")
    except OSError as error:
        print(f"problem=Landlock: {error}")


def main(arguments: "list[str]") -> int:
    if arguments == ["--probe"]:
        probe()
        return 0
    split = arguments.index("--")
    program = arguments[split + 1 :]
    parent = next((int(each.partition("=")[2]) for each in arguments[:split] if each.startswith("--parent=")), 0)
    supervisor = os.getpid()
    try:
        checked(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "become the reaper of the program's processes")
    except OSError as error:
        os.write(2, f"{PREFIX}{error}\n".encode(errors="surrogateescape"))
        return FAILED
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKED_BY)
    child = os.fork()
    if child == 0:
        os._exit(become(program, arguments[:split], supervisor))
    return end_as(outlive(child, parent))


def start() -> None:
    """As the command line says; nothing is left to tidy up."""
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    start()
