"""The loop, with a model whose replies are written down here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from sylk_ray.errors import InputError
from sylk_ray.llm import ContextTooLong, Reply, Request, ToolCall, ToolResult, Usage, User
from sylk_ray.skills import skill
from sylk_ray.thinking import Answer, Heard, Matter, Outcome, Pause, Summary, ThinkingLimits, Toolbox, think
from sylk_ray.thinking.summing import Checkpoint
from sylk_ray.thinking.window import Window


class Done(msgspec.Struct):
    summary: Annotated[str, Meta(description="In a sentence.", min_length=1)]
    count: int = 0


MATTER = Matter(system="You count.", task="Count the words.", result=Done)


class World:
    """A model that replies in turn, and tools that do something."""

    def __init__(self, *replies: Reply | Callable[[Request], Reply]) -> None:
        self._replies = list(replies)
        self.requests: list[Request] = []
        self.used: list[tuple[str, str, Mapping[str, Any]]] = []
        self.text = "one two"
        self.at_once = 0
        self.most_at_once = 0

        @skill(domain="x", tier="core", only_looks=True, needs=("filesystem.read",))
        async def read(ctx: object, name: str = "a") -> str:
            """Read."""
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(0.001)
            self.at_once -= 1
            return self.text

        @skill(domain="x", tier="core", needs=("filesystem.write",))
        async def write(ctx: object, text: str) -> str:
            """Write."""
            if not text:
                raise InputError("there is nothing to write", hint="say something")
            self.text = text
            return "written"

        @skill(domain="x", tier="core", needs=("network",))
        async def fetch(ctx: object, url: str) -> str:
            """Fetch."""
            raise AssertionError("it is not permitted")

        self.toolbox = Toolbox([read, write, fetch], frozenset({"filesystem.read", "filesystem.write"}))

    async def ask(self, number: int, request: Request) -> Reply:
        assert number == len(self.requests) + 1
        self.requests.append(request)
        reply = self._replies.pop(0)
        return reply if isinstance(reply, Reply) else reply(request)

    async def use(self, name: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        self.used.append((name, tool, arguments))
        return await self.toolbox.use(tool, arguments)

    async def think(self, **given: Any) -> Outcome[Done]:
        return await think(MATTER, self.toolbox, ask=self.ask, use=self.use, **given)

    def results(self, number: int) -> list[ToolResult]:
        """What the model was told before its reply of that number, counted from 1."""
        found: list[ToolResult] = []
        for turn in reversed(self.requests[number - 1].messages):
            if not isinstance(turn, ToolResult):
                break
            found.insert(0, turn)
        return found


def calls(*given: tuple[str, dict[str, Any]], **more: Any) -> Reply:
    made = tuple(ToolCall(f"c{number}", name, arguments) for number, (name, arguments) in enumerate(given))
    return Reply(calls=made, stop="calls", usage=Usage(100, 10), **more)


def says(text: str, **more: Any) -> Reply:
    return Reply(text=text, usage=Usage(100, 10), **more)


FINISH = calls(("finish", {"summary": "two words", "count": 2}))


async def test_a_result_comes_of_looking_and_finishing():
    world = World(calls(("read", {})), FINISH)
    outcome = await world.think()
    assert outcome.result == Done("two words", 2)
    assert (outcome.whole, outcome.ended, outcome.turns, outcome.usage) == (True, "done", 2, Usage(200, 20))
    assert [each.text for each in world.results(2)] == ["one two"]
    assert world.requests[0].messages == (User("Count the words."),)
    assert [tool.name for tool in world.requests[0].tools] == ["read", "write", "finish"]


async def test_every_call_is_answered_in_its_order_and_by_its_name():
    world = World(calls(("read", {"name": "a"}), ("nothing", {}), ("read", {"name": "b"})), FINISH)
    await world.think()
    assert [(each.call_id, each.failed) for each in world.results(2)] == [("c0", False), ("c1", True), ("c2", False)]
    assert "there is no tool nothing" in world.results(2)[1].text


async def test_looking_is_done_at_once_and_changing_in_turn():
    world = World(calls(*[("read", {"name": str(n)}) for n in range(4)]), FINISH)
    await world.think()
    assert world.most_at_once == 4
    world = World(calls(("read", {}), ("write", {"text": "x"}), ("read", {})), FINISH)
    await world.think()
    assert world.most_at_once == 1
    assert [each.text for each in world.results(2)] == ["one two", "written", "x"]


async def test_each_use_has_a_name_of_its_own():
    world = World(calls(("read", {}), ("read", {})), calls(("read", {})), FINISH)
    await world.think()
    assert [name for name, _, _ in world.used] == ["1.1 read", "1.2 read", "2.1 read"]


async def test_what_is_not_granted_is_neither_offered_nor_done():
    world = World(calls(("fetch", {"url": "x"})), FINISH)
    outcome = await world.think()
    assert "needs the permission network; granted: filesystem.read, filesystem.write" in world.results(2)[0].text
    assert outcome.refused == 1
    assert "fetch" not in [tool.name for tool in world.requests[0].tools]


async def test_wrong_arguments_and_failures_are_told_to_the_model():
    world = World(calls(("write", {"txt": "x"})), calls(("write", {"text": ""})), FINISH)
    await world.think()
    assert "the arguments of write are wrong" in world.results(2)[0].text
    assert world.results(3)[0].text == "there is nothing to write\nhint: say something"
    assert world.results(3)[0].failed


async def test_a_call_that_was_not_understood_is_not_made():
    broken = Reply(calls=(ToolCall("c", "write", {}, problem="text is missing"),), stop="calls")
    world = World(broken, FINISH)
    await world.think()
    assert world.used == []
    assert world.results(2)[0].text == "text is missing"


async def test_a_result_that_is_not_right_goes_back():
    seen: list[tuple[int, list[int]]] = []

    async def check(result: Done, earlier: Sequence[Done]) -> str:
        seen.append((result.count, [each.count for each in earlier]))
        return "" if result.count == 2 else f"there are not {result.count}"

    wrong = calls(("finish", {"summary": "three words", "count": 3}))
    world = World(wrong, calls(("finish", {"summary": "", "count": 2})), calls(("finish", {"count": "x"})), FINISH)
    outcome = await world.think(check=check)
    assert world.results(2)[0].text == "there are not 3"
    assert "summary" in world.results(3)[0].text
    assert world.results(4)[0].failed
    assert (outcome.result, outcome.refused) == (Done("two words", 2), 3)
    assert seen == [(3, []), (2, [3])]


async def test_a_result_beside_other_calls_has_not_seen_what_came_of_them():
    world = World(calls(("write", {"text": "x"}), ("finish", {"summary": "early"})), FINISH)
    outcome = await world.think()
    assert outcome.result == Done("two words", 2)
    assert "alone" in world.results(2)[1].text


async def test_words_without_a_call_are_answered():
    world = World(says("I will count."), says("", problem="the JSON is cut off"), says("so", stop="length"), FINISH)
    outcome = await world.think(limits=ThinkingLimits(silent=5))
    said = [request.messages[-1] for request in world.requests[1:]]
    assert isinstance(said[0], User)
    assert "finish" in said[0].text
    assert said[1] == User("the JSON is cut off")
    assert "cut off" in said[2].text
    assert outcome.said == "so"


@pytest.mark.parametrize(
    ("limits", "replies", "ended"),
    [
        (ThinkingLimits(turns=3), [calls(("read", {"name": "a"})), calls(("read", {"name": "b"}))], "turns"),
        (ThinkingLimits(tokens=200), [calls(("read", {"name": "a"})), calls(("read", {"name": "b"}))], "tokens"),
        (ThinkingLimits(silent=1), [says("hm"), says("hm")], "silent"),
        (ThinkingLimits(repeats=2), [calls(("read", {}))] * 4, "repeats"),
    ],
)
async def test_at_a_limit_the_result_is_asked_for_alone(limits, replies, ended):
    world = World(*replies, FINISH)
    outcome = await world.think(limits=limits)
    assert (outcome.result, outcome.ended, outcome.whole) == (Done("two words", 2), ended, False)
    assert [tool.name for tool in world.requests[-1].tools] == ["finish"]
    assert world.requests[-1].tool_choice == "finish"
    assert len(world.requests) == len(replies) + 1


async def test_time_is_a_limit():
    now = iter(range(0, 1000, 10))
    world = World(calls(("read", {"name": "a"})), calls(("read", {"name": "b"})), FINISH)
    outcome = await world.think(limits=ThinkingLimits(seconds=25), now=lambda: next(now))
    assert outcome.ended == "time"


async def test_a_model_that_gives_nothing_even_then_has_no_result():
    world = World(says("hm"), says("hm"))
    outcome = await world.think(limits=ThinkingLimits(silent=0))
    assert (outcome.result, outcome.ended, outcome.said) == (None, "silent", "hm")


async def test_the_same_call_is_another_one_when_something_has_changed():
    replies = [each for n in range(4) for each in (calls(("read", {})), calls(("write", {"text": f"x{n}"})))]
    outcome = await World(*replies, FINISH).think(limits=ThinkingLimits(repeats=2))
    assert outcome.ended == "done"


@pytest.mark.parametrize(("text", "ended"), [("one two", "done"), ("one two " * 100, "repeats")])
async def test_a_long_answer_that_comes_again_is_the_same_whatever_was_asked(text, ended):
    world = World(*[calls(("read", {"name": name})) for name in "abcdef"], FINISH)
    world.text = text
    assert (await world.think(limits=ThinkingLimits(repeats=2))).ended == ended
    # The answer may be another one for another name: it stays what it can do.
    assert all("read" in {tool.name for tool in request.tools} for request in world.requests[:6])


async def test_the_same_refusal_is_the_same_whatever_was_asked():
    world = World(*[calls(("fetch", {"url": f"https://example.org/{number}"})) for number in range(6)], FINISH)
    assert (await world.think(limits=ThinkingLimits(repeats=2))).ended == "repeats"


async def test_what_one_reply_asks_several_times_it_asked_before_it_was_told():
    wishes = [("write", {"text": ""})] * 4 + [("fetch", {"url": str(number)}) for number in range(6)]
    outcome = await World(calls(*wishes), FINISH).think(limits=ThinkingLimits(repeats=2))
    assert outcome.whole


async def test_the_same_change_over_and_over_changes_nothing():
    outcome = await World(*[calls(("write", {"text": "x"}))] * 4, FINISH).think(limits=ThinkingLimits(repeats=2))
    assert outcome.ended == "repeats"


async def test_a_model_that_repeats_itself_is_told():
    world = World(*[calls(("read", {}))] * 3, FINISH)
    await world.think(limits=ThinkingLimits(repeats=3))
    assert "the answer is the same" not in world.results(3)[0].text
    assert "3 times, and the answer is the same" in world.results(4)[0].text


async def test_what_leads_round_in_circles_is_not_offered_until_something_has_changed():
    world = World(*[calls(("read", {}))] * 2, calls(("write", {"text": "x"})), FINISH)
    await world.think(limits=ThinkingLimits(repeats=2))
    assert [[tool.name for tool in request.tools] for request in world.requests] == [
        ["read", "write", "finish"],
        ["read", "write", "finish"],
        ["write", "finish"],
        ["read", "write", "finish"],
    ]


async def test_the_same_wrong_result_again_and_again_ends_it():
    world = World(*[calls(("finish", {"summary": ""}))] * 4, FINISH)
    outcome = await world.think(limits=ThinkingLimits(repeats=2))
    assert (outcome.ended, outcome.result is not None) == ("repeats", True)
    assert "2 times, and the answer is the same" in world.results(3)[0].text


async def test_price_and_repairs_are_added_up():
    world = World(calls(("read", {}), price=0.5, repairs=("trailing comma",)), FINISH)
    assert (await world.think()).price is None
    world = World(
        calls(("read", {}), price=0.5, repairs=("trailing comma",)), msgspec.structs.replace(FINISH, price=0.25)
    )
    outcome = await world.think()
    assert (outcome.price, outcome.repairs) == (0.75, ("trailing comma",))


async def test_the_same_replies_lead_to_the_same_requests():
    def replies() -> Sequence[Reply]:
        return [calls(("read", {})), says("hm"), calls(("write", {"text": "x"})), FINISH]

    first, second = World(*replies()), World(*replies())
    await first.think(window=2000)
    await second.think(window=2000)
    assert first.requests == second.requests


async def test_an_error_that_is_not_the_tools_ends_it():
    world = World(calls(("read", {})), FINISH)

    async def use(name: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        raise InputError("the journal is full")

    with pytest.raises(InputError, match="journal"):
        await think(MATTER, world.toolbox, ask=world.ask, use=use)


async def test_in_a_small_window_old_answers_are_left_out_and_the_last_ones_stay():
    def counted(request: Request) -> Reply:
        size = sum(len(getattr(turn, "text", "")) for turn in request.messages) // 4
        number = len(request.messages) // 2
        reply = FINISH if number == 12 else calls(("write", {"text": f"{number} " + "word " * 200}), ("read", {}))
        return msgspec.structs.replace(reply, usage=Usage(size + 100, 60))

    world = World(*[counted] * 20)
    outcome = await world.think(window=3000)
    assert outcome.ended in ("done", "window")
    last = [turn for turn in world.requests[-1].messages if isinstance(turn, ToolResult)]
    assert "are left out here; call read again" in "".join(turn.text for turn in last)
    assert all("left out" not in turn.text for turn in last[-4:])
    sizes = [sum(len(getattr(turn, "text", "")) for turn in request.messages) // 4 for request in world.requests]
    assert max(sizes) < 3000


HUGE = "word " * 4000
SUMMARY = {"done": ["the first is written"], "remaining": ["the second"], "notes": "tabs, not spaces"}
TOLD = Summary(("the first is written",), ("the second",), "tabs, not spaces")


def filling(*replies: Reply) -> list[Reply]:
    """As one whose provider does not count, so that what is said is."""
    return [msgspec.structs.replace(each, usage=Usage(100, 10, estimated=True)) for each in replies]


def writing(number: int) -> Reply:
    return calls(("write", {"text": f"{HUGE}{number}"}))


async def test_a_matter_that_does_not_fit_is_ended():
    matter = msgspec.structs.replace(MATTER, task=HUGE * 2)
    world = World(FINISH)
    outcome = await think(matter, world.toolbox, ask=world.ask, use=world.use, window=8_000)
    assert (outcome.ended, outcome.turns) == ("window", 1)


async def test_a_conversation_that_is_full_begins_anew_with_what_is_known():
    world = World(*filling(*map(writing, range(5)), calls(("sum_up", SUMMARY)), FINISH))
    outcome = await world.think(window=20_000)
    assert outcome.whole
    summing, anew = world.requests[-2:]
    assert [tool.name for tool in summing.tools] == [summing.tool_choice] == ["sum_up"]
    assert len(summing.messages) > 5
    (told,) = anew.messages
    assert isinstance(told, User)
    assert told.text.startswith(MATTER.task)
    assert told.text.endswith(
        "# You have been at this before\n"
        "Done:\n- the first is written\nLeft to do:\n- the second\nNotes: tabs, not spaces"
    )
    assert [tool.name for tool in anew.tools][-1] == "finish"


async def test_what_is_known_is_noted_at_each_part_of_the_window_once_and_when_it_is_full():
    noted: list[Checkpoint] = []

    async def note(checkpoint: Checkpoint) -> None:
        noted.append(checkpoint)

    again = [*map(writing, range(5, 8)), FINISH]
    world = World(*filling(*map(writing, range(5)), calls(("sum_up", SUMMARY)), *again))
    assert (await world.think(window=20_000, note=note, note_at=(0.3, 0.5))).whole
    assert [(each.reason, round(each.used, 1)) for each in noted] == [
        ("checkpoint", 0.4),
        ("checkpoint", 0.6),
        ("context_full", 1.0),
        ("checkpoint", 0.4),
        ("checkpoint", 0.6),
    ]
    assert noted[0].summary.done == ("write",)
    assert noted[2].summary == TOLD


async def test_where_nobody_notes_nothing_is():
    world = World(*filling(*map(writing, range(3)), FINISH))
    assert (await world.think(window=20_000, note_at=(0.3,))).whole


@pytest.mark.parametrize(
    "said",
    [calls(("finish", {"summary": "no"})), Reply(text="well", calls=()), calls(("sum_up", {"done": "all"}))],
    ids=["another tool", "words", "wrong arguments"],
)
async def test_what_a_model_cannot_sum_up_is_told_by_what_it_did(said):
    world = World(*filling(*map(writing, range(5)), said, FINISH))
    assert (await world.think(window=20_000)).whole
    assert "Done:\n- write" in world.requests[-1].messages[0].text


async def test_another_may_go_on_and_says_what_the_matter_is_otherwise():
    paused: list[Pause] = []

    async def go_on(pause: Pause) -> str:
        paused.append(pause)
        return "Go on counting."

    world = World(*filling(*map(writing, range(4)), calls(("sum_up", SUMMARY)), FINISH))
    await world.think(window=20_000, go_on=go_on, full_at=0.8)
    (pause,) = paused
    assert (pause.reason, pause.summary.remaining) == ("context_full", ("the second",))
    assert 0.8 < pause.used < 1.1
    assert world.requests[-1].messages == (User("Go on counting."),)


async def test_a_person_can_have_another_go_on():
    heard = [Heard(), Heard(("mind the gap",), hand_off=True), Heard()]
    paused: list[Pause] = []

    async def hear(number: int) -> Heard:
        return heard.pop(0)

    async def go_on(pause: Pause) -> str:
        paused.append(pause)
        return "Go on counting."

    world = World(calls(("read", {})), calls(("sum_up", SUMMARY)), FINISH)
    assert (await world.think(hear=hear, go_on=go_on)).whole
    assert [pause.reason for pause in paused] == ["asked_by_user"]
    assert "mind the gap" in world.requests[1].messages[-2].text


async def test_who_has_not_begun_has_nothing_to_sum_up():
    async def hear(number: int) -> Heard:
        return Heard(hand_off=number == 1 and not paused)

    paused: list[Pause] = []

    async def go_on(pause: Pause) -> str:
        paused.append(pause)
        return "Go on counting."

    outcome = await World(FINISH).think(hear=hear, go_on=go_on)
    assert (outcome.turns, paused[0].summary) == (1, Summary())


@pytest.mark.parametrize(("tokens", "full"), [(200_000, 190_000), (8_000, 7_200), (1_000, 700)])
def test_a_window_is_full_where_its_last_words_begin(tokens, full):
    window = Window(tokens, 0.95)
    for size, expected in ((full, False), (full + 1, True)):
        window.read(0, Usage(size, 0))
        assert window.full([]) is expected


async def test_what_the_provider_finds_too_long_is_made_shorter_once_more():
    def too_long(request: Request) -> Reply:
        raise ContextTooLong("it has more than 8192 tokens")

    written = [calls(("write", {"text": f"{n} " + "word " * 200}), ("read", {})) for n in range(4)]
    world = World(*written, too_long, FINISH)
    outcome = await world.think()
    assert outcome.whole
    told = [turn.text for turn in world.requests[5].messages if isinstance(turn, ToolResult)]
    assert sum("are left out here" in text for text in told) == 2
    assert all("left out" not in text for text in told[-4:])

    with pytest.raises(ContextTooLong):
        await World(too_long).think()


async def test_a_last_word_that_is_too_long_is_made_shorter_once_more():
    def too_long(request: Request) -> Reply:
        raise ContextTooLong("it has more than 8192 tokens")

    written = [calls(("write", {"text": f"{n} " + "word " * 200}), ("read", {})) for n in range(4)]
    outcome = await World(*written, too_long, FINISH).think(limits=ThinkingLimits(turns=5))
    assert (outcome.ended, outcome.result) == ("turns", Done("two words", 2))
