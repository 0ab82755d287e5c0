"""When changes are told, by a clock that the test drives."""

from __future__ import annotations

from sylk_ray.codebase.debouncing import Batch, Debouncer


def test_a_file_that_is_saved_thrice_is_told_once_when_it_is_quiet() -> None:
    debouncer = Debouncer(quiet=0.1)
    for now in (1.0, 1.05, 1.1):
        debouncer.changed(["a.py"], now)
        assert debouncer.take(now) is None
    assert debouncer.due() == 1.2000000000000002
    assert debouncer.take(1.15) is None
    assert debouncer.take(1.21) == Batch(("a.py",))
    assert debouncer.take(9.0) is None
    assert debouncer.due() is None


def test_changes_that_do_not_end_are_told_nevertheless() -> None:
    debouncer = Debouncer(quiet=0.1, longest=1.0)
    now = 0.0
    while debouncer.take(now) is None:
        debouncer.changed([f"{now}.py"], now)
        now += 0.05
    assert 1.0 <= now < 1.1


def test_what_happens_while_git_works_is_one_batch() -> None:
    debouncer = Debouncer(quiet=0.1)
    debouncer.lock(True, 0.0)
    debouncer.changed(["b.py"], 0.0)
    assert debouncer.take(0.5) is None
    debouncer.changed(["a.py"], 0.9)
    debouncer.lock(False, 1.0)
    assert debouncer.take(1.05) is None
    assert debouncer.take(1.11) == Batch(("a.py", "b.py"))


def test_a_lock_that_is_left_behind_does_not_hold_for_ever() -> None:
    debouncer = Debouncer(quiet=0.1, longest=5.0)
    debouncer.lock(True, 0.0)
    debouncer.changed(["a.py"], 0.0)
    assert debouncer.take(5.0) == Batch(("a.py",))


def test_over_a_hundred_paths_are_a_look_at_everything() -> None:
    debouncer = Debouncer(many=100)
    debouncer.changed([f"{n}.py" for n in range(100)], 0.0)
    assert debouncer.take(1.0) == Batch(tuple(sorted(f"{n}.py" for n in range(100))))
    debouncer.changed([f"{n}.py" for n in range(101)], 2.0)
    assert debouncer.take(3.0) == Batch((), True)
    debouncer.changed(["a.py"], 4.0)
    assert debouncer.take(5.0) == Batch(("a.py",))


def test_nothing_that_counts_is_no_batch() -> None:
    debouncer = Debouncer()
    debouncer.changed([], 0.0)
    assert debouncer.due() is None
