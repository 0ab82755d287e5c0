"""A local Ray head of our own: started under one child process (see ``keeper``), ended as one, in nobody's way.

Nothing here imports Ray. The head listens on loopback, asks for a token (Ray's own authentication, with a token
of this state directory), keeps its files in a folder of its own and takes free ports, so that several runtimes
live on one machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from sylk_ray.errors import SylkError
from sylk_ray.home import make_home

START_TIMEOUT_S = 60.0
GCS_TABLES = "gcs"
SYSTEM_CONFIG = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}
"""Ray notices a dead node within some 5 s: by itself it takes 16 s, and with less patience a busy node of a small
machine is taken for a dead one."""
LONGEST_BASE = 24


class RayDidNotStart(SylkError):
    """The local Ray head ended, or did not answer in time."""

    code = "ray_did_not_start"


def ray_token(home: Path) -> Path:
    """The file with Ray's authentication token for this state directory, made on first use with mode 0600."""
    path = home / "ray-token"
    if not path.exists():
        make_home(home)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    return path


def ray_environment(home: Path) -> dict[str, str]:
    """The environment in which any process of this runtime speaks to its Ray."""
    return {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(ray_token(home)),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        # Without this Ray replaces 127.0.0.1 by the machine's address and listens on every interface.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # A cell that is ended must not take its git commands along: half done they leave locks in a repository.
        # Tools end with their cell all the same (see sylk_ray.tools.confine).
        "RAY_kill_child_processes_on_worker_exit": "0",
        "SYLK_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def temp_dir(home: Path) -> Path:
    """Ray's files: under the system's temporary folder, or /tmp where that has a long name, for Ray puts sockets
    there and the path of a socket may have 107 bytes at most."""
    name = hashlib.blake2b(str(home).encode(), digest_size=5).hexdigest()
    base = Path(tempfile.gettempdir())
    return (base if len(str(base)) <= LONGEST_BASE else Path("/tmp")) / f"sylk-{os.getuid()}-{name}"


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RayHead:
    """A running head: its address and, when it has one, its dashboard's."""

    def __init__(self, pid: int, address: str, dashboard_url: str) -> None:
        self.pid = pid
        self.address = address
        self.dashboard_url = dashboard_url


def start_head(
    home: Path, *, num_cpus: int | None, dashboard: bool, object_store_mb: int = 256, dashboard_port: int = 0
) -> RayHead:
    """Start a head and return once it answers; raises RayDidNotStart with the end of its log.

    A port can be taken between the choice and the use, so there are three tries.
    """
    log_path = home / "logs" / "ray.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    for last in (False, False, True):
        port, web = free_port(), dashboard_port or free_port()
        # Its tables are for a GCS that is started again; a head that is started anew knows nothing of an old one.
        shutil.rmtree(home / GCS_TABLES, ignore_errors=True)
        command = [
            *(sys.executable, "-P", "-m", "sylk_ray.runtime.cluster.keeper", str(temp_dir(home)), "--"),
            str(Path(sys.executable).parent / "ray"),
            *("start", "--head", "--disable-usage-stats"),
            *("--node-ip-address", "127.0.0.1", "--port", str(port)),
            *("--include-dashboard", "true" if dashboard else "false"),
            *("--dashboard-host", "127.0.0.1", "--dashboard-port", str(web)),
            *("--metrics-export-port", str(free_port()), "--dashboard-agent-listen-port", str(free_port())),
            *("--ray-client-server-port", str(free_port())),
            *("--temp-dir", str(temp_dir(home))),
            *("--system-config", json.dumps(SYSTEM_CONFIG)),
            *("--object-store-memory", str(object_store_mb << 20)),
        ]
        if num_cpus is not None:
            command += ["--num-cpus", str(num_cpus)]
        with log_path.open("ab") as log:
            begins = log.tell()
            process = subprocess.Popen(
                command,
                env={
                    **ray_environment(home),
                    "RAY_gcs_storage": "rocksdb",
                    "RAY_gcs_storage_path": str(home / GCS_TABLES),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=home,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            if _says_started(log_path, begins) and _answers(port):
                return RayHead(process.pid, f"127.0.0.1:{port}", f"http://127.0.0.1:{web}" if dashboard else "")
            time.sleep(0.05)
        stop_head(process.pid)
        process.wait()
        if last:
            tail = log_path.read_text(errors="replace")[-1500:].strip()
            raise RayDidNotStart(f"the local Ray head did not start:\n{tail}", hint=f"the whole log is {log_path}")
    raise AssertionError("unreachable")


def _says_started(log_path: Path, begins: int) -> bool:
    with log_path.open("rb") as log:
        log.seek(begins)
        return b"Ray runtime started" in log.read()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stop_head(pid: int, grace_s: float = 1.0) -> None:
    """End a head and everything it started, by process id; nothing else on the machine is touched. Ray takes four
    seconds to end by itself when nobody is left on it, and has nothing that is worth waiting for."""
    try:
        head = psutil.Process(pid)
        family = [head, *head.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        head.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(family, timeout=grace_s)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            family.extend(process.children(recursive=True))
            process.kill()
    psutil.wait_procs(family, timeout=5)


def is_head(pid: int, home: Path) -> bool:
    """Whether the process of that id is this state directory's head, and not someone who got its number."""
    try:
        return str(temp_dir(home)) in " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return False
