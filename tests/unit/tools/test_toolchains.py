from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sylk_ray.tools.toolchains import rustup_home, toolchains


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "me"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    return made


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def covers(folders: list[Path], path: Path) -> bool:
    found = toolchains(os.pathsep.join(map(str, folders)))
    return any(path.resolve().is_relative_to(each) for each in found)


def test_the_python_that_runs_this_is_covered_with_what_it_is_made_from(home: Path) -> None:
    for path in (Path(sys.executable), Path(sys.prefix) / "pyvenv.cfg", Path(os.__file__)):
        assert covers([], path), path


def test_a_virtual_environment_is_covered_with_the_installation_that_it_links_to(home: Path) -> None:
    installed = program(home / "pythons/3.12/bin/python3.12")
    (home / "pythons/3.12/include").mkdir()
    environment = home / "project/.venv"
    program(environment / "bin/ruff")
    (environment / "bin/python").symlink_to(installed)
    (environment / "pyvenv.cfg").touch()
    path = [environment / "bin"]
    assert covers(path, environment / "lib/python3.12/site-packages/x.py")
    assert covers(path, home / "pythons/3.12/lib/python3.12/os.py")
    assert not covers(path, home / "project/.env")
    assert not covers(path, home / "pythons/notes.txt")


def test_of_a_manager_of_toolchains_the_credentials_are_not_covered(home: Path) -> None:
    program(home / ".cargo/bin/rustup")
    (home / ".cargo/registry").mkdir()
    (home / ".cargo/credentials.toml").touch()
    (home / ".rustup/toolchains").mkdir(parents=True)
    path = [home / ".cargo/bin"]
    assert covers(path, home / ".cargo/registry/x")
    assert covers(path, home / ".rustup/toolchains/stable/bin/cargo")
    assert rustup_home(str(path[0])) == home / ".rustup"
    assert not covers(path, home / ".cargo/credentials.toml")


def test_pyenv_is_covered_although_it_is_a_clone_of_its_repository(home: Path) -> None:
    program(home / ".pyenv/shims/python")
    for folder in (".git", "versions", "libexec"):
        (home / ".pyenv" / folder).mkdir()
    for part in ("versions/3.11/bin/python", "libexec/pyenv"):
        assert covers([home / ".pyenv/shims"], home / ".pyenv" / part)


def test_programs_in_a_home_directory_do_not_uncover_it(home: Path) -> None:
    tool = program(home / ".local/share/pipx/venvs/black/bin/black")
    (home / ".local/share/pipx/venvs/black/pyvenv.cfg").touch()
    for folder in (home / "bin", home / ".local/bin"):
        folder.mkdir(parents=True)
        (folder / "black").symlink_to(tool)
    secrets = [home / ".ssh/id_ed25519", home / ".local/share/keyrings/login.keyring", home / "notes.txt"]
    for path in ([home / "bin"], [home / ".local/bin"], [home], [home.parent], [home / "bin/..", Path("/")]):
        assert not any(covers(path, secret) for secret in secrets), path
    for folder in (home / "bin", home / ".local/bin"):
        assert covers([folder], tool.parent.parent / "lib/python3.11/site-packages/black.py")


def test_a_repositorys_own_programs_do_not_uncover_it(home: Path) -> None:
    program(home / "project/bin/tool")
    program(home / "project/tool")
    (home / "project/.git").mkdir()
    for path in ([home / "project/bin"], [home / "project"]):
        assert not covers(path, home / "project/main.py")
    assert covers([home / "project/bin"], home / "project/bin/tool")


def test_a_link_among_programs_that_leads_to_no_program_uncovers_nothing(home: Path) -> None:
    (home / "bin").mkdir()
    for name in ("secret.txt", "documents/letter.txt"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).touch()
    (home / "bin/secret").symlink_to(home / "secret.txt")
    (home / "bin/documents").symlink_to(home / "documents")
    assert not covers([home / "bin"], home / "secret.txt")
    assert not covers([home / "bin"], home / "documents/letter.txt")


def test_what_is_installed_meanwhile_is_found(home: Path) -> None:
    folder = home / "bin"
    folder.mkdir()
    assert not covers([folder], home / "sdk/go/src/fmt/print.go")
    go = program(home / "sdk/go/bin/go")
    (home / "sdk/go/VERSION").touch()
    (folder / "go").symlink_to(go)
    os.utime(folder, ns=(1, 1))
    assert covers([folder], home / "sdk/go/src/fmt/print.go")


def test_a_path_of_nonsense_is_no_error(home: Path) -> None:
    (home / "loop").symlink_to("loop")
    assert covers([Path("relative"), home / "nowhere", home / "loop", Path("/etc/passwd")], Path(sys.executable))
