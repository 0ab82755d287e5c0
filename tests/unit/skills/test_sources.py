"""Skills of installed packages and of repositories: a broken one is told, and keeps no other out."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sylk_ray.skills import CONTROL, Registry, call, load_installed, load_repository
from tests.unit.skills.samples import sample

GOOD = '''\
from __future__ import annotations
from dataclasses import dataclass
from sylk_ray.skills import skill

@dataclass
class Where:
    path: str

@skill(domain="team")
async def {name}(ctx, where: Where) -> str:
    """Say where."""
    return where.path
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / ".sylk" / "skills"
    made.mkdir(parents=True)
    return made


async def test_a_repository_brings_skills_and_gets_no_files(folder, tmp_path):
    (folder / "ours.py").write_text(GOOD.format(name="where_is"))
    registry = Registry()
    assert load_repository(registry, tmp_path, allowed=True) == []
    assert await call(registry.get("where_is"), '{"where": {"path": "here"}}', None) == '"here"'
    assert [path.name for path in folder.iterdir()] == ["ours.py"]


def test_no_code_of_a_repository_runs_before_it_is_allowed(folder, tmp_path):
    (folder / "ours.py").write_text("raise SystemExit('it ran')")
    (problem,) = load_repository(Registry(), tmp_path, allowed=False)
    assert problem.told() == (f"{folder}: its skills were not read (their code runs with your rights: allow it first)")


def test_a_repository_without_skills_is_no_problem(tmp_path):
    assert load_repository(Registry(), tmp_path, allowed=False) == []


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("x = 1\ndef broken(:\n", 2, "SyntaxError: invalid syntax"),
        ("x = 1\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('no')\nf()\n", 2, "ValueError: no"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        (GOOD.format(name="bad").replace("where: Where", "where"), 9, "the parameter 'where' has no type"),
        ("x = 1\n", 0, "defines no skill"),
        (GOOD.format(name="good"), 0, "already defined at"),
    ],
)
def test_a_broken_file_is_told_with_its_line_and_the_others_are_loaded(folder, tmp_path, text, line, told):
    (folder / "a.py").write_text(GOOD.format(name="good"))
    (folder / "b.py").write_text(text)
    (folder / "c.py").write_text(GOOD.format(name="other"))
    registry = Registry()
    (problem,) = load_repository(registry, tmp_path, allowed=True)
    assert (problem.source, problem.line) == (str(folder / "b.py"), line)
    assert told in problem.message
    assert [each.name for each in registry] == ["good", "other"]


def test_a_file_that_failed_leaves_no_module_behind(folder, tmp_path):
    (folder / "broken.py").write_text("1 / 0")
    load_repository(Registry(), tmp_path, allowed=True)
    assert not [name for name in sys.modules if name.startswith("sylk_repository_skills") and "broken" in name]


def test_installed_packages_bring_skills(monkeypatch):
    entries = [
        EntryPoint("control", "sylk_ray.skills.control", "sylk.skills"),
        EntryPoint("again", "sylk_ray.skills.control:load_skill", "sylk.skills"),
        EntryPoint("gone", "sylk_ray.skills.nowhere", "sylk.skills"),
        EntryPoint("empty", "sylk_ray.skills.errors", "sylk.skills"),
        EntryPoint("second", "tests.unit.skills.test_sources:TWIN", "sylk.skills"),
    ]
    monkeypatch.setattr("sylk_ray.skills.installed.entry_points", lambda *, group: entries)
    registry = Registry()
    problems = load_installed(registry)
    assert [each.name for each in registry] == [each.name for each in CONTROL]
    assert [each.source for each in problems] == [each.value for each in entries[2:]]
    assert "No module named" in problems[0].message
    assert "it has no skill" in problems[1].message
    assert "already defined" in problems[2].message


TWIN = sample("load_skill")
