from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sylk_ray.errors import InputError
from sylk_ray.routing import (
    Broadcast,
    Directed,
    FreeText,
    NotUnderstood,
    SlashCommand,
    TaskAction,
    TaskCommand,
    Utterance,
    commands,
    parse,
    show,
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('@to:architect "please plan this task"', Directed("to", "architect", "please plan this task")),
        ('@to:librarian "find all files matching *.go"', Directed("to", "librarian", "find all files matching *.go")),
        ("@to:librarian find all files", Directed("to", "librarian", "find all files")),
        ("@to:librarian two\nlines", Directed("to", "librarian", "two\nlines")),
        (r"@to:librarian a \ is a \ here", Directed("to", "librarian", r"a \ is a \ here")),
        (r'@to:librarian "say \"hi\" \\ \n"', Directed("to", "librarian", 'say "hi" \\ \n')),
        ('  @TO:librarian   "x"  ', Directed("to", "librarian", "x")),
        ("@to:engineer/create_dashboard go on", Directed("to", "engineer/create_dashboard", "go on")),
        ("@to:s-1/engineer/a go on", Directed("to", "s-1/engineer/a", "go on")),
        ('@from:engineer "task completed successfully"', Directed("from", "engineer", "task completed successfully")),
        ('@guide:tester "run tests for the auth module"', Directed("guide", "tester", "run tests for the auth module")),
        (
            '@broadcast:inspector,tester "validation complete"',
            Broadcast(("inspector", "tester"), "validation complete"),
        ),
        ("@broadcast:a hello", Broadcast(("a",), "hello")),
        (
            '/task create_dashboard prompt "Focus on error handling first"',
            TaskCommand("create_dashboard", TaskAction.PROMPT, "Focus on error handling first"),
        ),
        ("/task a query What files?", TaskCommand("a", TaskAction.QUERY, "What files?")),
        ("/task implement_user_model interrupt", TaskCommand("implement_user_model", TaskAction.INTERRUPT)),
        ("/task add_api_routes ignore_inspector", TaskCommand("add_api_routes", TaskAction.IGNORE_INSPECTOR)),
        ("/task write_unit_tests ignore-tester", TaskCommand("write_unit_tests", TaskAction.IGNORE_TESTER)),
        ("/task create_dashboard handoff", TaskCommand("create_dashboard", TaskAction.HANDOFF)),
        ("/TASK a Stop_Handoff  too soon", TaskCommand("a", TaskAction.STOP_HANDOFF, "too soon")),
        ("/status", SlashCommand("architect", "status")),
        ("/find --kind=type Mailbox", SlashCommand("librarian", "find", {"kind": "type", "name": "Mailbox"})),
        ("/find a b c", SlashCommand("librarian", "find", {"name": "a b c"})),
        ('/search --files="a b" x', SlashCommand("librarian", "search", {"files": "a b", "query": "x"})),
        ("/search -- --x", SlashCommand("librarian", "search", {"query": "--x"})),
        ("/file a.py 3 9", SlashCommand("librarian", "file", {"path": "a.py", "start_line": "3", "end_line": "9"})),
        ("/skip test_x too slow", SlashCommand("tester", "skip", {"test_name": "test_x", "reason": "too slow"})),
        ("/plan a login page", SlashCommand("architect", "plan", {"request": "a login page"})),
        ("/tester:plan", SlashCommand("tester", "plan")),
        (
            "/ingest --deep https://x.org/a",
            SlashCommand("academic", "ingest", {"deep": "true", "url": "https://x.org/a"}),
        ),
        ("where is the parser?", FreeText("where is the parser?")),
        ('"quoted" text', FreeText('"quoted" text')),
        ("/etc/hosts is wrong", FreeText("/etc/hosts is wrong")),
        ("/config.yaml is wrong", FreeText("/config.yaml is wrong")),
        (r"\@alice said so", FreeText("@alice said so")),
        (r"\/plan is a command", FreeText("/plan is a command")),
        (r"\d is a digit", FreeText(r"\d is a digit")),
    ],
)
def test_what_is_said_is_understood(text: str, meant: Utterance):
    assert parse(text) == meant


@pytest.mark.parametrize(
    ("text", "message", "offset", "hint"),
    [
        ("", "nothing was said", 0, "@to:<agent>"),
        ("@alice hello", '"@alice" is no way to name a receiver', 0, r"\@"),
        ("@tho:x hello", '"@tho" is no way to name a receiver', 0, 'did you mean "to"?'),
        ("@brodcast:a,b hello", '"@brodcast" is no way to name a receiver', 0, 'did you mean "broadcast"?'),
        ('@to: "x"', "an agent's name is missing here", 4, "@to:librarian"),
        ("@to:librarian", "the message is empty", 13, "say something"),
        ('@to:librarian ""', "the message is empty", 14, "say something"),
        ('@to:librarian"x"', "a space is missing here", 13, "first space"),
        ('@to:librarian "x', "this quote is not closed", 14, 'end it with "'),
        ('@to:librarian "x" y', "there is more after the closing quote", 18, r"\""),
        (r'@to:librarian "\q"', r'"\q" means nothing', 15, r"\n for a new line"),
        ("@broadcast:a,,b x", "an agent's name is missing here", 13, "@to:librarian"),
        ("@broadcast:a,b,a x", '"a" is named twice', 15, "once"),
        ("/task", "the task's name is missing here", 5, "/task <name> <action>"),
        ("/task a", "the action is missing here", 7, "stop_handoff"),
        ("/task a promt x", '"promt" is no action', 8, 'did you mean "prompt"?'),
        ("/task a prompt", "the message is empty", 14, "say something"),
        ("/fnd x", "there is no command /fnd", 0, 'did you mean "find"?'),
        ("/tset", "there is no command /tset", 0, 'did you mean "test"?'),
        ("/inspector:find x", 'the agent "inspector" has no command /find', 0, r"\/"),
        ("/find", "/find needs a name", 5, "/find [--kind=function|type|const|var|any] <name...>"),
        ("/find --kin=type x", '/find has no option "--kin"', 6, 'did you mean "kind"?'),
        ("/find --kind=tpe x", 'kind is one of function, type, const, var, any, not "tpe"', 6, 'did you mean "type"?'),
        ("/find --kind x", "--kind needs a value", 12, "--kind=<value>"),
        ("/find --kind=type --kind=var x", '"--kind" is given twice', 18, "once"),
        ("/status now", "/status takes nothing more here", 8, "/status [--detailed]"),
        ("/status --detailed=no", "detailed is a flag: it takes no value", 8, "/status [--detailed]"),
        ("/file a.py three", 'start_line is a whole number, not "three"', 11, "/file <path>"),
        ('/file "a"b', "a space is missing after the closing quote", 9, r"\""),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text: str, message: str, offset: int, hint: str):
    with pytest.raises(NotUnderstood) as caught:
        parse(text)
    assert (caught.value.message, caught.value.offset) == (message, offset)
    assert hint in caught.value.hint


def test_an_error_points_at_the_place():
    with pytest.raises(NotUnderstood) as caught:
        parse("/task a promt x")
    assert caught.value.pointed() == "/task a promt x\n        ^"


def test_an_error_survives_the_way_to_another_process():
    with pytest.raises(NotUnderstood) as caught:
        parse("@to:")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.offset, again.text, again.hint) == (
        caught.value.message,
        caught.value.offset,
        caught.value.text,
        caught.value.hint,
    )


texts = st.text(min_size=1).filter(lambda text: bool(text.strip()))
parts = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,12}", fullmatch=True)
agents = st.lists(parts, min_size=1, max_size=3).map("/".join)
tasks = st.text(min_size=1, max_size=20).filter(lambda name: '"' not in name and not any(map(str.isspace, name)))


@st.composite
def task_commands(draw: st.DrawFn) -> TaskCommand:
    action = draw(st.sampled_from(list(TaskAction)))
    return TaskCommand(draw(tasks), action, draw(texts if action.needs_text else texts | st.just("")))


@st.composite
def slash_commands(draw: st.DrawFn) -> SlashCommand:
    command = draw(st.sampled_from(commands()))
    given = draw(st.integers(sum(each.required for each in command.arguments), len(command.arguments)))
    options = [each for each in command.options if draw(st.booleans())]
    arguments: dict[str, str] = {}
    for parameter in (*options, *command.arguments[:given]):
        if parameter.kind == "flag":
            arguments[parameter.name] = "true"
        elif parameter.kind == "integer":
            arguments[parameter.name] = str(draw(st.integers(0, 10**6)))
        elif parameter.choices:
            arguments[parameter.name] = draw(st.sampled_from(parameter.choices))
        else:
            arguments[parameter.name] = draw(st.text(min_size=1))
    return SlashCommand(command.agent, command.name, arguments)


utterances = (
    st.builds(Directed, st.sampled_from(["to", "from", "guide"]), agents, texts)
    | st.builds(Broadcast, st.lists(agents, min_size=1, max_size=4, unique=True).map(tuple), texts)
    | task_commands()
    | slash_commands()
    | texts.map(str.strip).map(FreeText)
)


@given(utterances)
def test_what_is_printed_is_parsed_as_the_same(utterance: Utterance):
    assert parse(show(utterance)) == utterance


def said_or_refused(text: str) -> Utterance | NotUnderstood:
    try:
        return parse(text)
    except NotUnderstood as error:
        return error


signs = st.sampled_from([*"@/:,=3a", '"', "\\", " ", "\n", "--"]) | st.sampled_from(
    ["to", "from", "broadcast", "guide", "task", "prompt", "find", "kind", "librarian", "handoff", "status", "file"]
)


@given(st.text() | st.lists(signs, max_size=15).map("".join))
def test_any_text_is_understood_or_refused_and_what_is_understood_can_be_printed(text: str):
    said = said_or_refused(text)
    if isinstance(said, NotUnderstood):
        assert isinstance(said, InputError)
        assert 0 <= said.offset <= len(text)
        assert said.hint
    else:
        assert parse(show(said)) == said


@given(st.text(min_size=1))
def test_text_that_is_for_nobody_is_kept_as_it_is(text: str):
    said = text.strip()
    assume(said and said[0] not in "@/\\")
    assert parse(text) == FreeText(said)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Directed("to", "no body", "x"),
        lambda: Directed("to", "librarian", "  "),
        lambda: Broadcast((), "x"),
        lambda: Broadcast(("a", "a"), "x"),
        lambda: TaskCommand("two words", TaskAction.HANDOFF),
        lambda: TaskCommand("a", TaskAction.PROMPT),
        lambda: TaskCommand("a", TaskAction.INTERRUPT, " "),
        lambda: SlashCommand("librarian", "fly"),
        lambda: SlashCommand("librarian", "find"),
        lambda: SlashCommand("librarian", "find", {"name": "x", "wings": "2"}),
        lambda: SlashCommand("librarian", "file", {"path": "x", "end_line": "2"}),
        lambda: FreeText(" x"),
        lambda: FreeText(""),
    ],
)
def test_what_could_not_be_said_cannot_be_made(make: Callable[[], Utterance]):
    with pytest.raises(InputError):
        make()


SPEC = {
    "academic": "research compare ingest cite sources",
    "architect": "plan status approve modify interrupt clarify schedule workflow",
    "librarian": "find search file imports usages structure scan tooling",
    "inspector": "validate lint format typecheck issues override analyze",
    "tester": "test coverage plan analyze skip benchmark watch",
}


def test_every_slash_command_of_the_spec_is_there_with_its_help():
    found: dict[str, list[str]] = {}
    for command in commands():
        found.setdefault(command.agent, []).append(command.name)
        assert command.help
        assert all(each.help for each in (*command.arguments, *command.options))
    guide = found.pop("guide")
    assert guide == ["help", "agents", "sessions", "metrics"]
    assert found == {agent: names.split() for agent, names in SPEC.items()}


def test_a_command_without_an_implementation_is_parsed_and_marked_so():
    sources = parse("/sources")
    assert isinstance(sources, SlashCommand)
    assert sources.command.skill == ""
