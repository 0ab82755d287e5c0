"""Keys are read late, from where nobody else can read, and are told nowhere."""

from __future__ import annotations

import logging
import pickle
import traceback

import pytest

from sylk_ray.config import Model
from sylk_ray.llm import Key, KeyMissing, ModelError, Models, Request, User, hide_keys
from tests.models import Complaint, Cut, Garbage, ModelServer, Status

SECRET = "correct-horse-battery-staple"
ASK = Request(messages=(User("hello"),))


def test_a_key_is_read_from_the_environment_or_a_private_file(tmp_path):
    environment = {"A_KEY": f" {SECRET}\n"}
    key = Key("A_KEY", environment=environment)
    assert key.read() == SECRET
    environment["A_KEY"] = "changed"
    assert key.read() == "changed"
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    assert Key(file=file).read() == SECRET
    assert Key().read() == ""


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    file = tmp_path / "key"
    file.write_text(SECRET)
    file.chmod(mode)
    with pytest.raises(KeyMissing, match="others may read") as caught:
        Key(file=file).read()
    assert caught.value.hint == f"chmod 600 {file}"


@pytest.mark.parametrize("content", ["", "two words", "line\nline", "schlüssel", "x" * 5000])
def test_what_is_not_one_key_is_refused_without_telling_it(tmp_path, content):
    file = tmp_path / "key"
    file.write_text(content)
    file.chmod(0o600)
    for key in (Key(file=file), Key("A_KEY", environment={"A_KEY": content})):
        with pytest.raises(KeyMissing) as caught:
            key.read()
        assert not content or content not in caught.value.message
    with pytest.raises(KeyMissing, match="cannot be read"):
        Key(file=tmp_path / "none").read()


def test_nothing_prints_a_key_and_only_its_place_leaves_the_process():
    key = Key("A_KEY", environment={"A_KEY": SECRET})
    assert SECRET not in f"{key} {key!r} {vars(Key('A_KEY'))} {pickle.dumps(key)!r}"
    assert repr(pickle.loads(pickle.dumps(key))) == "Key(A_KEY)"


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abcdefghijkl", "sk-proj-AbC_1234567890", "ghp_" + "a" * 36, "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "hf_" + "b" * 30,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)  # fmt: skip
def test_what_has_the_form_of_a_key_is_hidden(text: str):
    assert hide_keys(f"before {text} after") == "before *** after"


def test_ordinary_text_is_left_as_it_is():
    text = "def sk(a): risk-free, task-oriented-programming, the bearer of this, AKIA, commit 9cdcd41f"
    assert hide_keys(text) == text


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "fault",
    [
        Status(401, f"Incorrect API key provided: {SECRET}"), Status(400, f"key={SECRET}"), Status(500, SECRET),
        Status(302, SECRET), Cut(1), Garbage(1), Complaint(1, {"message": SECRET}), Complaint(1, f"what is {SECRET}?"),
    ],
)  # fmt: skip
async def test_a_failing_call_tells_no_key_in_errors_tracebacks_and_logs(monkeypatch, caplog, protocol, fault):
    monkeypatch.setenv("A_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    told: list[object] = []
    with ModelServer() as server:
        server.faults = [fault] * 9
        model = Model(provider=protocol, base_url=server.url, model="m", api_key_env="A_KEY")

        async def sleep(seconds: float) -> None:
            pass

        models = Models({"m": model}, sleep=sleep)
        with pytest.raises(ModelError) as caught:
            await models.call("m", ASK, on_piece=told.append)
        sent = " ".join(server.asked[0].headers.values())
    assert SECRET in sent
    traced = "".join(traceback.format_exception(caught.value, limit=None))
    everything = [caught.value.message, caught.value.hint, traced, caplog.text, repr(told), repr(models), repr(model)]
    everything += [repr(vars(models)), repr(vars(models.provider("m")))]
    assert [each for each in everything if SECRET in each] == []


async def test_a_key_that_is_missing_is_told_before_anybody_is_asked():
    with ModelServer() as server:
        models = Models({"m": Model(base_url=server.url, model="m", api_key_env="NO_SUCH_KEY_HERE")})
        with pytest.raises(KeyMissing, match="NO_SUCH_KEY_HERE"):
            await models.call("m", ASK)
        assert server.asked == []
