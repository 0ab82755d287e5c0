"""Recording and playing again: by what is asked, in any protocol, without keys, and loudly when it was not recorded."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sylk_ray.config import Model
from sylk_ray.llm import (
    Assistant,
    Call,
    CallPiece,
    Models,
    Request,
    StopPiece,
    TextPiece,
    Tool,
    ToolResult,
    UnknownRequest,
    User,
)
from sylk_ray.llm.replay import Exchange, Recording, RecordingUnreadable, Replay, key_of
from tests.models import Cut, ModelServer
from tests.models.server import says

RUN = Tool("run", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
SECRET = "correct-horse-battery-staple"


def conversation(id: str = "a1", result: str = "2 passed in 0.12s", **more: Any) -> Request:
    return Request(
        system="You test.",
        messages=(
            User("Run the tests."),
            Assistant("", (Call(id, "run", {"command": "pytest"}),)),
            ToolResult(id, "run", result),
        ),
        tools=(RUN,),
        **more,
    )


@pytest.mark.parametrize(
    "other",
    [
        conversation(id="call_9"),
        conversation(result="2 passed in 3.4s"),
        conversation(max_tokens=5, temperature=1.0),
    ],
)
def test_ids_times_and_settings_make_no_other_request(other: Request):
    assert key_of(other) == key_of(conversation())


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("at 2026-11-22T17:00:01Z", "at 2025-01-02 03:04:05"),
        ("at 17:00:01.5", "at 03:04:05"),
        ("commit 9cdcd41f", "commit 45ffeee1a2b3c4d5e6f7"),
        ("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "id 00000000-2fa1-11d2-883f-0016d3cca427"),
        ("in s-7f3a", "in s-00ff"),
        ("/tmp/x/y/a.py:3: no", "/tmp/other/a.py:3: no"),
        (f"{Path.home()}/work/a.py", "~/work/a.py"),
        ("/opt/v/lib/python3.11/site-packages/x.py:1", "/usr/lib/python3/dist-packages/x.py:1"),
        ("/tmp/clone/.venv/lib/python3.11/site-packages/x.py:1", "/usr/lib/python3/dist-packages/x.py:1"),
        ("http://127.0.0.1:40001/x", "http://127.0.0.1:5050/x"),
        ("/tmp/h/sessions/s-7f3a/worktrees/a/b.py", "/var/lib/sylk/sessions/s-00ff/worktrees/a/b.py"),
        ("/usr/lib/python3.11/ast.py:3", "/root/.pyenv/versions/3.12.1/lib/python3.12/ast.py:3"),
        ("<f at 0x7f00aa12cd>", "<f at 0x7faabb12cd00>"),
    ],
)
def test_what_changes_from_run_to_run_makes_no_other_request(here: str, there: str):
    assert key_of(conversation(result=here)) == key_of(conversation(result=there))


@pytest.mark.parametrize(
    "other",
    [
        conversation(result="3 passed"),
        conversation(tool_choice="none"),
        conversation(tool_choice="required"),
        conversation(stop=("x",)),
        msgspec.structs.replace(conversation(), system="You write."),
        msgspec.structs.replace(conversation(), tools=(Tool("run", "Runs.", RUN.parameters),)),
    ],
)
def test_what_is_asked_makes_another_request(other: Request):
    assert key_of(other) != key_of(conversation())


def test_keys_of_requests_stay_the_same_from_version_to_version():
    assert key_of(conversation()) == "5f92862ce5d89f94"


async def record(server: ModelServer, file: Path, protocol: str = "openai", *requests: Request) -> Models:
    model = Model(provider=protocol, base_url=server.url, model="m", record=file)  # type: ignore[arg-type]
    models = Models({"m": model}, sleep=lambda seconds: asyncio.sleep(0))
    for request in requests:
        await models.call("m", request)
    return models


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_what_was_recorded_is_played_without_a_server_and_by_one_in_both_protocols(tmp_path, protocol):
    file = tmp_path / "recorded.jsonl"
    call = [TextPiece("I run it."), CallPiece(0, "x", "run", '{"command": "pytest -q"}'), StopPiece("calls")]
    first, second = Request(messages=(User("Test it."),), tools=(RUN,)), conversation()
    with ModelServer(call, says("All is well.")) as server:
        models = await record(server, file, protocol, first, second)
        await models.aclose()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    alone = Models({"m": Model(provider="replay", recording=file)})
    with ModelServer(recording=file) as server:
        for models in (
            alone,
            Models({"m": Model(base_url=server.url, model="other")}),
            Models({"m": Model(provider="anthropic", base_url=server.url, model="other")}),
        ):
            reply = await models.call("m", first)
            assert (reply.text, reply.calls[0].arguments) == ("I run it.", {"command": "pytest -q"})
            assert (await models.call("m", conversation(id="else"))).text == "All is well."
            with pytest.raises(UnknownRequest, match=r"messages\[2\].text is '3 failed' and was '2 passed"):
                await models.call("m", conversation(result="3 failed"))
        assert len(server.asked) == 6


async def test_an_unknown_request_is_asked_once_and_of_no_other_model(tmp_path):
    file = tmp_path / "empty.jsonl"
    file.touch()
    settings = {"a": Model(provider="replay", recording=file), "b": Model(provider="replay", recording=file)}
    with pytest.raises(UnknownRequest, match="the recording is empty") as caught:
        await Models(settings).call("any", conversation())
    assert "none of the models" not in caught.value.message


def test_the_difference_to_the_nearest_request_is_told_in_words():
    near = msgspec.structs.replace(conversation(), system="You test. " * 30 + "Be brief.")
    far = Request(messages=(User("Something else."),))
    recording = Recording([Exchange.of("m", each, says("x")) for each in (far, near)])
    with pytest.raises(UnknownRequest) as caught:
        recording.answer(msgspec.structs.replace(near, system="You test. " * 30 + "Be long."))
    assert "system is " in caught.value.message
    assert "from character 303" in caught.value.message
    assert "record it anew" in caught.value.hint


def test_the_same_request_gets_its_answers_in_their_order_and_the_last_for_ever():
    recording = Recording([Exchange.of("m", conversation(), says(text)) for text in ("one", "two")])
    told = [recording.answer(conversation())[0] for _ in range(3)]
    assert told == [TextPiece("one"), TextPiece("two"), TextPiece("two")]


async def test_what_was_cut_off_is_not_recorded(tmp_path):
    file = tmp_path / "recorded.jsonl"
    with ModelServer() as server:
        server.faults = [Cut(2)]
        await record(server, file, "openai", conversation())
    assert len(file.read_text().splitlines()) == 1


async def test_no_key_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("A_KEY", SECRET)
    file = tmp_path / "recorded.jsonl"
    token = "ghp_" + "a1" * 15
    with ModelServer(answer=lambda request: says(f"The key is {SECRET}, and {token}.")) as server:
        models = Models({"m": Model(base_url=server.url, model="m", api_key_env="A_KEY", record=file)})
        reply = await models.call("m", conversation(result=f"KEY={SECRET} TOKEN={token}"))
        assert SECRET in reply.text
    written = file.read_text()
    assert SECRET not in written
    assert token not in written
    assert "KEY=*** TOKEN=***" in written


def test_a_file_that_is_no_recording_is_told_with_its_line(tmp_path):
    file = tmp_path / "recorded.jsonl"
    with pytest.raises(RecordingUnreadable, match="cannot be read"):
        Recording.read(file)
    file.write_bytes(msgspec.json.encode(Exchange.of("m", conversation(), says("x"))) + b"\n{}\n")
    with pytest.raises(RecordingUnreadable, match=r"recorded\.jsonl:2"):
        Recording.read(file)


async def test_a_replay_comes_in_pieces():
    replay = Replay(Recording([Exchange.of("m", conversation(), says("a" * 50))]))
    assert len([piece async for piece in replay.stream(conversation()) if isinstance(piece, TextPiece)]) == 3
