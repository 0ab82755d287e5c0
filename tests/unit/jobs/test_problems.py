"""Each thing that can be wrong with a job file: its place, its words, its hint."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sylk_ray.jobs import JobProblems, Problem, load_job, load_job_file

TASK = """name: docs
tasks:
  write_it:
    engineer:
      - run: make docs
"""


def problems(text: str, **variables: str) -> list[Problem]:
    with pytest.raises(JobProblems) as raised:
        load_job(text, source="job.yaml", variables=variables)
    return list(raised.value.problems)


def told(text: str, **variables: str) -> list[str]:
    return [problem.told("f") for problem in problems(text, **variables)]


def in_task(lines: str) -> list[str]:
    indented = "\n".join(f"    {line}" for line in lines.splitlines())
    return told(f"name: docs\ntasks:\n  t:\n{indented}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f:1:1: the job is empty (begin with: name: my_job)"),
        ("# nothing\n", "f:1:1: the job is empty (begin with: name: my_job)"),
        ("- a\n", "f:1:1: a job is a mapping of fields (begin with: name: my_job)"),
        ("just text", "f:1:1: a job is a mapping of fields (begin with: name: my_job)"),
        (
            "name: docs\ntasks:\n\tt: 1\n",
            (
                "f:3:1: this is not valid YAML: while scanning for the next token, found character "
                "'\\t' that cannot "
                "start any token (indent with spaces: YAML does not allow tabs there)"
            ),
        ),
        (
            "name: a: b\n",
            (
                "f:1:8: this is not valid YAML: mapping values are not allowed here "
                '(put quotes around a text that contains ": ")'
            ),
        ),
        (
            "name: a\nname: b\n",
            'f:2:1: name: the field "name" is here twice (it is also on line 1; remove one of them)',
        ),
        ("a: &a\n  b: *a\n", "f:1:4: a.b: this alias contains itself (write the value out)"),
        (
            "a: !!python/name:os.system x\n",
            "f:1:4: a: the tag !!python/name:os.system has no meaning in a job (remove it)",
        ),
        ("a: !!timestamp 2020-99-99\n", "f:1:4: a: the tag !!timestamp has no meaning in a job (remove it)"),
        ("a: \x00\n", "f:1:4: the character U+0000 is not allowed (remove it)"),
        ("? [a]\n: b\n", "f:1:3: the name of a field is text, not a list or a mapping"),
        (
            'a: "\\ud83d"\n',
            "f:1:4: a: half of a surrogate pair is not a character (write \\U0001F600, not \\uD83D)",
        ),
        ("a: 1\n---\nb: 2\n", None),
        ('a: "\\UFFFFFFFF"\n', None),
        ("a: *b\n", None),
        ("a: [1\n", None),
        ("<<: 5\n", "f:1:5: << merges mappings, and this is not one (give an alias of a mapping)"),
    ],
)
def test_what_is_wrong_with_the_yaml(text: str, expected: str | None):
    found = told(text)
    assert len(found) == 1
    assert found[0] == expected or (expected is None and "this is not valid YAML" in found[0])


def test_an_alias_bomb_is_refused_before_it_expands():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    assert "100,000 values once its aliases are expanded" in told("\n".join(lines))[0]


def test_an_alias_bomb_of_text_is_refused():
    text = f"a: &a {'x' * 90_000}\nb: [{', '.join(['*a'] * 200)}]\n"
    assert "once its aliases are expanded" in told(text)[0]


def test_deep_nesting_is_refused_where_it_gets_too_deep():
    assert told("[" * 5000) == ["f:1:51: this is nested more than 50 levels deep (a job needs fewer than 10)"]


def test_nesting_by_aliases_is_refused_too():
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 1500)]
    assert "aliases" in told("\n".join(lines))[0]


def test_a_huge_text_is_refused():
    assert told("a" * 1_000_001) == ["f:1:1: the file is longer than 1,000,000 characters (split the job)"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "engineer: []",
            ('t.engineer: a task needs at least one action under "engineer:" (for example: - run: make format)'),
        ),
        (
            "depends_on: []",
            't: a task needs at least one action under "engineer:" (for example: - run: make format)',
        ),
        ("engineer: make", 't.engineer: expected a list, got "make" (write it as a list: [make])'),
        (
            "engineer: [make]",
            "t.engineer[0]: an action is a mapping with one key, its kind (for example: - run: make format)",
        ),
        ("engineer: [{rnu: make}]", 't.engineer[0].rnu: there is no action "rnu" (did you mean "run"?)'),
        (
            "engineer: [{zzz: make}]",
            ('t.engineer[0].zzz: there is no action "zzz" (the actions: rewrite, edit, write, delete, patch, run)'),
        ),
        (
            "engineer: [{kind: [run]}]",
            (
                "t.engineer[0].kind: the kind of an action is text "
                "(the actions: rewrite, edit, write, delete, patch, run)"
            ),
        ),
        ("engineer: [{kind: rin}]", 't.engineer[0].kind: there is no action "rin" (did you mean "run"?)'),
        (
            "engineer: [{run: make, timeout_s: 3}]",
            (
                "t.engineer[0]: an action has one key, its kind, and this has 2: run, timeout_s "
                "(indent its fields under it: run: {..., timeout_s: ...})"
            ),
        ),
        (
            "engineer: [{run: make, delete: x}]",
            (
                "t.engineer[0]: an action has one key, its kind, and this has 2: run, delete "
                '(begin each action with a "- " of its own)'
            ),
        ),
        (
            "engineer: [{}]",
            (
                "t.engineer[0]: an action has one key, its kind, and this has none "
                "(the actions: rewrite, edit, write, delete, patch, run)"
            ),
        ),
        (
            "engineer: [{run: 5}]",
            "t.engineer[0].run: expected a mapping of fields or a command (run: {command: ...})",
        ),
        (
            "engineer: [{write: x}]",
            "t.engineer[0].write: expected a mapping of fields (write: {path: ..., content: ...})",
        ),
        ("engineer: [{run: {kind: edit}}]", 't.engineer[0].run: the kind is "run" already (remove "kind")'),
        ("engineer: [{run: {}}]", 't.engineer[0].run.command: the field "command" is missing'),
        (
            "engineer: [{run: {command: 1.10}}]",
            't.engineer[0].run.command: expected text or a list, got 1.1 (put it in quotes: "1.10")',
        ),
        (
            "engineer: [{run: {command: [make, 2]}}]",
            't.engineer[0].run.command[1]: expected text, got 2 (put it in quotes: "2")',
        ),
        (
            "engineer: [{rewrite: {language: python, files: a, to: b}}]",
            "t.engineer[0].rewrite: give either pattern or rule",
        ),
        (
            "engineer: [{edit: {path: a, old: b, new: c, pth: d}}]",
            't.engineer[0].edit.pth: there is no field "pth" here (did you mean "path"?)',
        ),
        ("engineer: [{edit: {path: a, old: '', new: c}}]", "t.engineer[0].edit.old: must not be empty"),
        (
            "engineer: [{run: a}]\non_feedback: [{delete: 5}]",
            "t.on_feedback[0].delete: expected a mapping of fields or a path (delete: {path: ...})",
        ),
        (
            "engineer: [{run: a}]\ninspector: {tools: [eslint]}",
            (
                't.inspector.tools[0]: "eslint" is not known by name (only ruff and mypy are) '
                '(give it a command: {name: eslint, run: "eslint {files}"})'
            ),
        ),
        (
            "engineer: [{run: a}]\ninspector: {tools: [{name: Rufff}]}",
            ('t.inspector.tools[0].name: "Rufff" is not known by name (only ruff and mypy are) (did you mean "ruff"?)'),
        ),
        (
            "engineer: [{run: a}]\ninspector: {tools: [{name: e, run: e, pattern: '(?P<file>.*)'}]}",
            (
                "t.inspector.tools[0].pattern: the pattern has no (?P<line>...), (?P<message>...) "
                "(name these groups in it)"
            ),
        ),
        (
            "engineer: [{run: a}]\ninspector: {tools: [{name: e, run: e, pattern: '('}]}",
            (
                "t.inspector.tools[0].pattern: this is not a regular expression: missing ), "
                "unterminated subpattern "
                "at position 0 (Python's re syntax is used)"
            ),
        ),
        (
            "engineer: [{run: a}]\ninspector: {tools: [{name: e, run: e, severity: eror}]}",
            "t.inspector.tools[0].severity: must be 'error', 'warning' or 'info' (did you mean \"error\"?)",
        ),
        (
            "engineer: [{run: a}]\ntester: 4",
            "t.tester: expected a command or a mapping of fields (for example: tester: pytest -q)",
        ),
        (
            "engineer: [{run: a}]\ntester: {run: a, rn: b}",
            't.tester.rn: there is no field "rn" here (did you mean "run"?)',
        ),
        ("engineer: [{run: a}]\nretries: 1.5", "t.retries: expected a whole number, got 1.5"),
        ("engineer: [{run: a}]\nretries: many", 't.retries: expected a whole number, got "many"'),
        ("engineer: [{run: a}]\ntimeout_s: 0", "t.timeout_s: must be more than 0"),
        ("engineer: [{run: a}]\ntimeout_s: .nan", 't.timeout_s: expected a number, got ".nan"'),
        ("engineer: [{run: a}]\nmax_loops: 101", "t.max_loops: must be at most 100"),
        (
            "engineer: [{run: a}]\ndepends_on: [t]",
            't.depends_on[0]: "t" depends on itself (take its own name out of depends_on)',
        ),
        (
            "engineer: [{run: a}]\ndescription:",
            't.description: expected text, got nothing (write "" for an empty text)',
        ),
    ],
)
def test_what_is_wrong_in_a_task(lines: str, expected: str):
    found = in_task(lines)
    assert [each.partition(": tasks.")[2] for each in found] == [expected]


def test_each_problem_has_its_line_and_column_and_all_are_told_at_once():
    text = """name: Docs
vars: {a: [1]}
tasks:
  one:
    depends_on: [two]
    enginer: []
    engineer:
      - rewrite:
          language: python
          files: ["a", 5]
          pattern: x
  two:
    depends_on: [one, tree]
    engineer:
      - run: make
  three:
policy: {on_failure: failfast}
finally: {inspectr: {}}
limits: [a]
colour: red
"""
    assert told(text) == [
        "f:1:7: name: this is not a name (use lower-case letters, digits, _ and -, starting with a letter)",
        "f:2:11: vars.a: expected text, got a list",
        (
            "f:5:18: tasks.one.depends_on[0]: these wait for each other in a circle: one -> two "
            "-> one (take one of "
            'them out, e.g. "two" out of the depends_on of "one")'
        ),
        'f:6:5: tasks.one.enginer: there is no field "enginer" here (did you mean "engineer"?)',
        'f:9:11: tasks.one.engineer[0].rewrite.to: the field "to" is missing',
        'f:10:24: tasks.one.engineer[0].rewrite.files[1]: expected text, got 5 (put it in quotes: "5")',
        ('f:13:23: tasks.two.depends_on[1]: "two" depends on "tree", which does not exist (did you mean "three"?)'),
        "f:16:9: tasks.three: expected a mapping of fields, got nothing",
        ("f:17:22: policy.on_failure: must be 'fail_fast' or 'continue_on_failure' (did you mean \"fail_fast\"?)"),
        'f:18:11: finally.inspectr: there is no field "inspectr" here (did you mean "inspector"?)',
        "f:19:9: limits: expected a mapping of fields, got a list",
        (
            'f:20:1: colour: there is no field "colour" here (the fields here: name, description, '
            "repo, vars, request, tasks, "
            "finally, policy, thinking, limits, sandbox)"
        ),
    ]


def test_a_missing_name_and_missing_tasks():
    assert told("repo: .\n") == [
        'f:1:1: name: the field "name" is missing',
        'f:1:1: tasks: the field "tasks" is missing',
    ]
    assert told("name: a\ntasks: {}\n") == ["f:2:8: tasks: must not be empty"]


def test_a_bad_task_name_and_a_repeated_dependency():
    text = TASK + "  Two:\n    depends_on: [write_it, write_it]\n    engineer: [{run: make}]\n"
    assert [(each.where, each.line, each.column) for each in problems(text)] == [
        ("tasks.Two", 6, 3),
        ("tasks.Two.depends_on[1]", 7, 28),
    ]


def test_an_unknown_variable_names_the_nearest():
    assert told(TASK + 'vars: {version: "1"}\n', versio="2") == [
        'f: --set versio: the job has no variable "versio" (did you mean "version"?)',
    ]
    assert told(TASK, version="2") == [
        'f: --set version: the job has no variable "version" (declare it under "vars:")',
    ]


def test_a_variable_needs_a_name_that_templates_can_use():
    assert told(TASK + "vars: {a-b: x}\n") == [
        "f:6:13: vars.a-b: this is not a name (use letters, digits and _, starting with a letter)",
    ]


def test_the_message_lists_the_problems_and_stops_at_fifty():
    text = "name: docs\ntasks:\n" + "".join(f"  t{i}:\n" for i in range(60))
    with pytest.raises(JobProblems) as raised:
        load_job(text, source="job.yaml")
    assert len(raised.value.problems) == 60
    lines = raised.value.message.splitlines()
    assert lines[0].startswith("job.yaml:3:6: tasks.t0: ")
    assert lines[-1] == "job.yaml: and 10 more problems"
    assert (raised.value.exit_code, raised.value.code) == (2, "job_problems")


def test_a_file_cannot_command_the_terminal_that_shows_its_problems():
    (found,) = told(TASK + '"\\e[31m\\nevil": 1\n')
    assert "\x1b" not in found
    assert "\n" not in found


def test_job_problems_pickle_with_their_problems():
    with pytest.raises(JobProblems) as raised:
        load_job("", source="job.yaml")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (copy.problems, copy.message) == (raised.value.problems, raised.value.message)


def test_a_job_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(JobProblems, match="cannot be read: No such file"):
        load_job_file(tmp_path / "none.yaml")
    with pytest.raises(JobProblems, match="cannot be read: Is a directory"):
        load_job_file(tmp_path)
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"name: a\nx: \xff\n")
    with pytest.raises(JobProblems, match=r"bad.yaml:2:4: the file is not UTF-8 text"):
        load_job_file(bad)
    bad.write_bytes(b"#" * 1_000_001)
    with pytest.raises(JobProblems, match="larger than 1,000,000 bytes"):
        load_job_file(bad)


def test_a_grant_that_would_open_the_state_directory_is_told_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "state" / "sessions").mkdir(parents=True)
    monkeypatch.setenv("SYLK_HOME", str(tmp_path / "state"))
    read, write = f"[{tmp_path}, {tmp_path}/state/token]", f"[build, {tmp_path}, ~no-such-user/x]"
    grants = f"sandbox:\n  read: {read}\n  write: {write}\n"
    secret = f"cannot be granted: no tool may read {tmp_path}/state"
    hint = "(Grant the folders that the tool needs, and none with that in it.)"
    column = len(f"  read: [{tmp_path}, ") + 1
    assert told(TASK + grants) == [
        f"f:7:{column}: sandbox.read[1]: {tmp_path}/state/token {secret} {hint}",
        f"f:8:18: sandbox.write[1]: {tmp_path} {secret} {hint}",
    ]
