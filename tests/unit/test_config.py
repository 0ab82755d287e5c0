"""Models in the settings: what makes sense, what is refused, and that no key is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.config import load_settings
from sylk_ray.errors import InputError

SECRET = "sk-proj-1234567890abcdefghij"
LOCAL = {"base_url": "http://127.0.0.1:8080/v1", "model": "qwen"}


def test_models_and_their_roles_are_read_from_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_text(
        "models:\n"
        "  fast: {base_url: 'http://127.0.0.1:11434/v1', model: qwen3, concurrency: 2}\n"
        "  large: {provider: anthropic, model: claude, api_key_env: ANTHROPIC_API_KEY, price_in: 3, price_out: 15}\n"
        "model_for: {architect: [large, fast], default: fast}\n"
    )
    settings = load_settings()
    assert settings.models["large"].provider == "anthropic"
    assert settings.models["fast"].concurrency == 2
    assert settings.model_for == {"architect": ("large", "fast"), "default": ("fast",)}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"api_key": SECRET}, "a key is not kept in the settings"),
        ({"api_key_env": SECRET}, "no name of an environment variable"),
        ({"api_key_env": "A", "api_key_file": "/b"}, "both given"),
        ({"base_url": "http://models.example/v1"}, "use https"),
        ({"base_url": "http://127.0.0.1.example/v1"}, "use https"),
        ({"base_url": f"https://me:{SECRET}@models.example/v1"}, "no user"),
        ({"base_url": "models.example"}, "give an address"),
        ({"model": ""}, "what the provider calls it"),
        ({"provider": "replay"}, "a replay needs the file"),
        ({"provider": "bard"}, "provider"),
        ({"api_key_file": "key"}, "give the whole path"),
        ({"record": "calls.jsonl"}, "give the whole path"),
        ({"concurrency": 2, "limits_of": "shared"}, "would not hold"),
        ({"limits_of": "nobody"}, "not among the providers"),
    ],
)
def test_what_makes_no_sense_is_refused_without_telling_the_key(wrong: dict[str, Any], told: str):
    with pytest.raises(InputError) as caught:
        load_settings(models={"fast": {**LOCAL, **wrong}})
    assert told in caught.value.message
    assert "models" in caught.value.message
    seen: BaseException | None = caught.value
    while seen is not None:
        assert SECRET not in f"{seen} {seen!r}"
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize(
    "base_url",
    ["http://localhost:1/v1", "http://[::1]:1/v1", "http://127.8.9.1/v1", "https://models.example/v1"],
)
def test_this_machine_and_https_are_reached_without_more(base_url):
    assert load_settings(models={"fast": {**LOCAL, "base_url": base_url}}).models["fast"].base_url == base_url


def test_plain_http_elsewhere_is_reached_when_the_person_says_so():
    given = {**LOCAL, "base_url": "http://gpu.lan/v1", "insecure": True}
    assert load_settings(models={"fast": given}).models["fast"].insecure


def test_a_role_without_its_model_is_named():
    with pytest.raises(InputError, match=r"model_for\.architect: large"):
        load_settings(models={"fast": LOCAL}, model_for={"architect": ["fast", "large"]})


def test_limits_are_given_once():
    with pytest.raises(InputError, match="give them once"):
        load_settings(models={"fast": {**LOCAL, "concurrency": 1}}, providers={"fast": {"calls": 2}})


def test_a_file_of_a_key_may_be_named_and_need_not_be_there():
    assert load_settings(models={"fast": {**LOCAL, "api_key_file": "/no/file"}}).models["fast"].api_key_file == Path(
        "/no/file"
    )


def test_the_models_of_the_readme_make_sense(tmp_path, monkeypatch):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    [block] = [
        each for each in re.findall(r"^```yaml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL) if "models:" in each
    ]
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_text(block)
    settings = load_settings()
    assert {model.provider for model in settings.models.values()} == {"openai", "anthropic"}
    assert settings.model_for["architect"] == ("claude", "openai", "local")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"cells: 1\nknowledge: [\n", r"settings\.yaml:3: this is no YAML: while parsing a flow node"),
        (b"cells: 1\nmodels: {a: \xff}\n", r"settings\.yaml:2: this is no UTF-8"),
        (b"cells: \x01\n", r"settings\.yaml: this is no YAML: unacceptable character"),
        (b"cells: 2020-13-40\n", r"settings\.yaml: this is no YAML: month must be"),
        (b"- cells\n", r"settings\.yaml:1: settings are of the form `name: value`"),
        (b"1: cells\n", r"settings\.yaml:1: settings are of the form `name: value`"),
        (b"[" * 10_000, r"settings\.yaml: this is no YAML: maximum recursion"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_line(written, told, tmp_path, monkeypatch):
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_bytes(written)
    with pytest.raises(InputError, match=told):
        load_settings()


def test_a_variable_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    monkeypatch.setenv("SYLK_PROVIDERS", "{")
    with pytest.raises(InputError, match="providers"):
        load_settings()


@pytest.mark.parametrize("written", [b"", b"# nothing\n", b"\xef\xbb\xbfcells: 3\n"])
def test_a_file_may_be_empty_or_begin_with_a_mark(written, tmp_path, monkeypatch):
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_bytes(written)
    assert load_settings().cells in (0, 3)
