"""Dead letters through the gateway, of a durable agent that fails."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from sylk_ray.messaging import Address
from sylk_ray.runtime.dead_letters import readable, view_of
from sylk_ray.runtime.journal import DeadLetter, Mail
from sylk_ray.sessions import SessionRecord, SessionState

from .conftest import Deliver, Fragile, Heard, a_job

PATH = "/sessions/s-1/dead-letters"
AGENT = Address("s-1", "fragile", "main")


@pytest.fixture
async def letter(runtime, guide, http):
    """A dead letter of an open session."""
    Fragile.broken = True
    guide.sessions["s-1"] = SessionRecord("s-1", "tidy", "/r", "b", "abc", state=SessionState.ACTIVE)
    await runtime.open(a_job())
    await runtime.hosts["a"].tell(AGENT, AGENT, Deliver("hello", b"\xff\x00"), timeout=5)
    return (await until(http, 1))[0]


async def until(http, count):
    async with asyncio.timeout(20):
        while len(found := (await http.get(PATH)).json()) != count:
            await asyncio.sleep(0.02)
    return found


async def test_a_letter_is_listed_with_what_it_is_and_why(http, letter):
    assert (letter["kind"], letter["source"], letter["target"]) == ("Deliver", str(AGENT), str(AGENT))
    assert letter["error"] == "handler_failed"
    assert "RuntimeError" in letter["reason"]
    assert letter["message"] is None


async def test_a_letter_is_shown_with_its_message_as_json(http, letter):
    told = (await http.get(f"{PATH}/{letter['id']}")).json()
    assert told["message"] == {"text": "hello", "data": "2 bytes: ff00"}


async def test_a_letter_that_is_sent_again_is_handled_once_its_cause_is_gone(runtime, http, letter):
    Fragile.broken = False
    assert (await http.post(f"{PATH}/{letter['id']}/retry")).status_code == 200
    await until(http, 0)
    async with asyncio.timeout(10):
        while await runtime.hosts["a"].ask(AGENT, AGENT, Heard(), timeout=5) != ["hello"]:
            await asyncio.sleep(0.02)
    assert (await http.post(f"{PATH}/{letter['id']}/retry")).status_code == 404


async def test_a_letter_whose_cause_is_not_gone_comes_back_and_can_be_sent_again(runtime, http, letter):
    await http.post(f"{PATH}/{letter['id']}/retry")
    again = (await until(http, 1))[0]
    assert (again["id"], again["at"] > letter["at"]) == (letter["id"], True)
    Fragile.broken = False
    await http.post(f"{PATH}/{letter['id']}/retry")
    await until(http, 0)


async def test_a_letter_is_sent_again_to_an_agent_that_was_put_away(runtime, http, letter):
    Fragile.broken = False
    await runtime.hosts["a"].deactivate_idle(0)
    await http.post(f"{PATH}/{letter['id']}/retry")
    async with asyncio.timeout(10):
        while await runtime.hosts["a"].ask(AGENT, AGENT, Heard(), timeout=5) != ["hello"]:
            await asyncio.sleep(0.02)


async def test_a_dropped_letter_is_gone(http, letter):
    assert (await http.delete(f"{PATH}/{letter['id']}")).json()["message"]["text"] == "hello"
    assert (await http.get(PATH)).json() == []
    assert (await http.delete(f"{PATH}/{letter['id']}")).json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        (SessionState.SUSPENDED, "`sylk session resume tidy` first"),
        (SessionState.COMPLETED, "its dead letters can be looked at, and not sent again"),
        (SessionState.ACTIVE, "its agents live while it has a job at work: submit one to it, and try again"),
    ],
)
async def test_letters_of_a_session_that_is_not_open_can_only_be_looked_at(
    runtime, guide, fleet, http, letter, state, hint
):
    guide.sessions["s-1"] = msgspec.structs.replace(guide.sessions["s-1"], state=state)
    fleet.open.clear()
    await runtime.hosts["a"].close_session("s-1")
    assert (await http.get(PATH)).json() == [letter]
    assert (await http.get(f"{PATH}/{letter['id']}")).json()["message"]["text"] == "hello"
    for answer in (await http.post(f"{PATH}/{letter['id']}/retry"), await http.delete(f"{PATH}/{letter['id']}")):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["hint"]) == (409, "session_not_open", hint)
    assert (await http.get(PATH)).json() == [letter]


async def test_a_session_without_a_journal_has_no_letters(guide, http):
    guide.sessions["s-1"] = SessionRecord("s-1", "tidy", "/r", "b", "abc")
    assert (await http.get(PATH)).json() == []


def test_a_packet_that_does_not_decode_is_shown_all_the_same():
    letter = DeadLetter(Mail("m", AGENT, AGENT, b"\xc1\xff"), "not_decodable", "no", 1.0)
    view = view_of(letter, whole=True)
    assert (view.kind, view.message) == ("", "2 bytes: c1ff")


def test_whatever_msgpack_holds_can_be_json():
    given = {b"a": [1, None, (2.5, True)], 3: {"b": b"text", "c": b"\xff" * 100}, "d": msgspec.msgpack.Ext(5, b"x")}
    told = readable(given)
    assert told["a"] == [1, None, [2.5, True]]
    assert told["3"]["b"] == "text"
    assert told["3"]["c"].startswith("100 bytes: ffff")
    assert told["3"]["c"].endswith("...")
    msgspec.json.encode(told)
