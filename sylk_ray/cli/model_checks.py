"""Whether there is a model to think with, and when that is asked, whether it answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sylk_ray.cli.examination import Check, Finding


def configured(home: Path) -> Iterator[Finding]:
    """Models are in the settings, and their keys where the settings say. To have none is fine."""
    from sylk_ray.config import load_settings
    from sylk_ray.errors import SylkError
    from sylk_ray.llm.keys import Key

    try:
        models = load_settings(home=home).models
    except SylkError:
        return  # the settings are a finding of their own
    if not models:
        yield Finding("models", "ok", "none configured; what needs one says so (see `sylk models list`)")
        return
    for name, model in models.items():
        try:
            Key(model.api_key_env, model.api_key_file).read()
        except SylkError as error:
            yield Finding(f"model {name}", "warn", error.message, error.hint)
        else:
            yield Finding(f"model {name}", "ok", f"{model.provider} {model.model}; `--models` asks it for a word")


def answering(home: Path) -> Iterator[Finding]:
    """Each model answers."""
    import asyncio

    from sylk_ray.config import load_settings
    from sylk_ray.llm.probing import probe

    for name, model in load_settings(home=home).models.items():
        probed = asyncio.run(probe(name, model))
        if probed.ok:
            told = f"answers in {probed.latency_s:.1f} s; tools: {probed.tools}; schema: {probed.schema}"
            yield Finding(f"model {name} answers", "ok", told)
        else:
            yield Finding(f"model {name} answers", "fail", probed.error, probed.hint)


CHECKS: tuple[Check, ...] = (configured,)
ASKING: tuple[Check, ...] = (answering,)
