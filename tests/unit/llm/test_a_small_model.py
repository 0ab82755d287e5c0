"""What a small real model wrote (llama.cpp's server with Qwen2.5-Coder-1.5B, four bits), served in both protocols."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sylk_ray.config import Model
from sylk_ray.llm import Models, Reply
from sylk_ray.llm.replay import Exchange
from tests.models import ModelServer

RECORDING = Path(__file__).parents[2] / "models" / "recordings" / "qwen2.5-coder-1.5b.jsonl"
EXCHANGES = [msgspec.json.decode(line, type=Exchange) for line in RECORDING.read_bytes().splitlines()]


@pytest.fixture(params=["openai", "anthropic"])
async def replies(request: pytest.FixtureRequest) -> list[Reply]:
    with ModelServer(recording=RECORDING) as server:
        models = Models({"m": Model(provider=request.param, base_url=server.url, model="m")})
        found = [await models.call("m", exchange.request) for exchange in EXCHANGES]
        await models.aclose()
        return found


async def test_the_calls_that_it_lists_in_one_answer_are_all_understood(replies):
    first = replies[0]
    assert [call.name for call in first.calls] == ["read_file", "write_file", "run_tests"]
    assert first.calls[1].arguments["content"] == "def slug(text):\n    return text.lower()"
    assert [call.problem for call in first.calls] == ["", "", ""]
    assert set(first.repairs) == {"call in the text"}
    assert first.stop == "calls"


async def test_a_call_that_it_could_not_end_is_told_to_it(replies):
    [cut] = [reply for reply in replies if reply.stop == "length"]
    assert [call.problem for call in cut.calls[:-1]] == [""] * 8
    assert "the call is not complete" in cut.calls[-1].problem
    assert cut.calls[-1].arguments == {}


async def test_what_it_says_when_it_is_done_is_no_call(replies):
    done = [reply for reply in replies if not reply.calls and reply.value is None]
    assert [reply.text for reply in done[:1]] == ["done"]
    assert all(reply.problem == "" for reply in done)


async def test_its_plan_follows_the_schema(replies):
    plan = replies[-1]
    assert [task["name"] for task in plan.value["tasks"]] == ["add-json-flag", "tests", "report-command"]
    assert (plan.repairs, plan.problem) == ((), "")
