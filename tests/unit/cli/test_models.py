"""``sylk models`` and what ``sylk doctor`` says of models, with a server of models on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sylk_ray.llm import CallPiece, Piece, Request, StopPiece, Usage, UsagePiece
from tests.models import ModelServer, Status
from tests.models.server import says

SECRET = "sk-test-abcdefghijklmnopqrstuv"


def answer(request: Request) -> list[Piece]:
    if request.tools:
        return [CallPiece(0, "a", "add", '{"first": 17, "second": "25"}'), StopPiece("calls")]
    return says('{"sum": 42}' if request.output_schema else "Hello to you and to everybody else.")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer=answer) as made:
        yield made


def configure(home, server, **more):
    model = {"base_url": server.url, "model": "small-1", "api_key_env": "A_KEY", **more}
    (home / "settings.yaml").write_text(json.dumps({"models": {"fast": model}, "model_for": {"tester": "fast"}}))


def test_without_models_the_list_says_how_to_set_one(sylk):
    code, output, _ = sylk("models", "list")
    assert code == 0
    assert "no model is configured" in output
    assert "settings.yaml" in output
    code, _, errors = sylk("models", "test")
    assert code == 2
    assert "settings.yaml" in errors


def test_models_are_listed_with_who_uses_them_and_whether_their_key_is_there(sylk, home, server):
    configure(home, server, context_window=8192, price_in=1, price_out=2)
    output = sylk("models", "list")[1]
    assert all(
        word in output for word in ("fast", "small-1", "127.0.0.1", "A_KEY (not there)", "8,192", "1/2", "tester")
    )
    [told] = json.loads(sylk("models", "list", "--json", A_KEY=SECRET)[1])["models"]
    assert (told["key"], told["used_for"]) == ("A_KEY", ["tester"])


def test_a_test_tells_latency_and_what_is_supported(sylk, home, server):
    configure(home, server, record=str(home / "recorded.jsonl"))
    code, output, errors = sylk("models", "test", A_KEY=SECRET)
    assert code == 0, errors
    assert "fast: answers in" in output
    assert "streams: yes" in output
    assert "tools: mended (text for an integer)" in output
    assert "schema: yes" in output
    assert not (home / "recorded.jsonl").exists()
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_model_that_does_not_answer_ends_with_1_and_its_key_is_not_told(sylk, home, server):
    configure(home, server)
    server.faults = [Status(401, f"Incorrect API key provided: {SECRET}")] * 2
    code, output, errors = sylk("models", "test", "--json", A_KEY=SECRET)
    [told] = json.loads(output)["models"]
    assert code == 1
    assert told["error"].endswith("answered 401: Incorrect API key provided: ***")
    code, output, errors = sylk("models", "test", A_KEY=SECRET)
    assert SECRET not in output + errors


def test_a_model_that_there_is_not_is_wrong_input(sylk, home, server):
    configure(home, server)
    code, _, errors = sylk("models", "test", "fats")
    assert code == 2
    assert 'did you mean "fast"?' in errors


def test_doctor_says_what_is_configured_and_asks_when_it_is_told_to(sylk, home, server):
    found = {each["name"]: each for each in json.loads(sylk("doctor", "--json")[1])["checks"]}
    assert found["models"]["state"] == "ok"
    configure(home, server)
    found = {each["name"]: each for each in json.loads(sylk("doctor", "--json")[1])["checks"]}
    assert found["model fast"]["state"] == "warn"
    assert "A_KEY" in found["model fast"]["detail"]
    assert server.asked == []
    checks = json.loads(sylk("doctor", "--json", "--models", A_KEY=SECRET)[1])["checks"]
    found = {each["name"]: each for each in checks}
    assert found["model fast"]["state"] == "ok"
    assert found["model fast answers"]["state"] == "ok"
    assert len(server.asked) == 3


def test_a_recording_that_is_not_there_is_told(sylk, home):
    replay = {"provider": "replay", "recording": str(home / "recorded.jsonl")}
    (home / "settings.yaml").write_text(json.dumps({"models": {"fast": replay}}))
    code, output, _ = sylk("models", "test")
    assert code == 1
    assert "cannot be read" in output


def test_usage_is_told_where_there_is_a_price(sylk, home, server):
    server.pieces_for = lambda request: [*answer(request)[:-1], UsagePiece(Usage(1000, 1000)), StopPiece("end")]
    configure(home, server, price_in=1, price_out=2)
    assert "6000 tokens, price 0.009000" in sylk("models", "test", A_KEY=SECRET)[1]
